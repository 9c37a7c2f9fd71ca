"""Two rules of one output variable must never hold together; this finds two that can.

Two antecedents exclude each other exactly when some variable has no value that both allow. Rules
that all name one variable are first parted by its value. Within a part, rules over the same
variables are compared by hashing their values, and groups over different ones meet on those they
share.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from espalier.language.rules import Rule
from espalier.language.variables import Value

Key = tuple[Value, ...]

# So few rules are compared without parting them.
FEW = 16


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


def _find_in_group(
    rules: list[Rule], parted: frozenset[str] = frozenset()
) -> tuple[Rule, Rule] | None:
    common = _common_variable(rules, parted) if len(rules) > FEW else None
    if common is None:
        return _find_by_shape(rules)
    parts: dict[Value, list[Rule]] = defaultdict(list)
    for rule in rules:
        for value in dict.fromkeys(_allowed(rule)[common]):
            parts[value].append(rule)
    finds = (_find_in_group(part, parted | {common}) for part in parts.values())
    return next((found for found in finds if found), None)


def _common_variable(rules: list[Rule], parted: frozenset[str]) -> str | None:
    """A variable that every rule names, the one with the most values; None if there is none."""
    values: dict[str, set[Value]] = defaultdict(set)
    count: Counter[str] = Counter()
    for rule in rules:
        for name, allowed in _allowed(rule).items():
            values[name].update(allowed)
            count[name] += 1
    named = [n for n in values if count[n] == len(rules) and n not in parted and len(values[n]) > 1]
    return max(named, key=lambda name: len(values[name]), default=None)


def _find_by_shape(rules: list[Rule]) -> tuple[Rule, Rule] | None:
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
    allowed = _allowed(rule)
    return itertools.product(*(dict.fromkeys(allowed[name]) for name in names))


def _allowed(rule: Rule) -> dict[str, tuple[Value, ...]]:
    return {atom.variable: atom.values for atom in rule.antecedent}


def _project(
    table: dict[Key, Rule], names: tuple[str, ...], shared: tuple[str, ...]
) -> dict[Key, Rule]:
    places = [names.index(name) for name in shared]
    return {tuple(key[place] for place in places): rule for key, rule in table.items()}
