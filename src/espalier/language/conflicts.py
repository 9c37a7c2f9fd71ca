"""Two rules of one output variable must never hold together; this finds two that can.

Two antecedents exclude each other exactly when some variable has no value that both allow. Rules
over the same variables are compared by hashing their values; groups over different variables meet
on the variables they share, so the work grows with groups times rules, not with rules squared.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator

from espalier.language.rules import Rule
from espalier.language.variables import Value

Key = tuple[Value, ...]


def find_conflict(rules: Iterable[Rule]) -> tuple[Rule, Rule] | None:
    """Two rules with one output variable that some assignment satisfies both, or None."""
    by_output: dict[tuple[str, Value], list[Rule]] = defaultdict(list)
    for rule in rules:
        by_output[rule.output, rule.old].append(rule)
    for group in by_output.values():
        found = _find_in_group(group)
        if found:
            return found
    return None


def _find_in_group(rules: list[Rule]) -> tuple[Rule, Rule] | None:
    tables: dict[tuple[str, ...], dict[Key, Rule]] = {}
    for rule in rules:
        names = tuple(sorted(atom.variable for atom in rule.antecedent))
        table = tables.setdefault(names, {})
        for key in _keys(rule, names):
            if key in table:
                return table[key], rule
            table[key] = rule
    for (left, one), (right, other) in itertools.combinations(tables.items(), 2):
        shared = tuple(name for name in left if name in right)
        seen = _project(one, left, shared)
        for key, rule in _project(other, right, shared).items():
            if key in seen:
                return seen[key], rule
    return None


def _keys(rule: Rule, names: tuple[str, ...]) -> Iterator[Key]:
    allowed = {atom.variable: atom.values for atom in rule.antecedent}
    return itertools.product(*(dict.fromkeys(allowed[name]) for name in names))


def _project(
    table: dict[Key, Rule], names: tuple[str, ...], shared: tuple[str, ...]
) -> dict[Key, Rule]:
    places = [names.index(name) for name in shared]
    return {tuple(key[place] for place in places): rule for key, rule in table.items()}
