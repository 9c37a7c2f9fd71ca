"""Two rules of one output variable must never hold together; this finds two that can.

Two antecedents exclude each other exactly when some variable has no value that both allow. Rules
that all name one variable are first split by its value. Within a part, rules over the same
variables are compared by hashing their values, and groups over different ones by the variables
that they share.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping

from espalier.language.rules import Rule
from espalier.language.variables import Value

Key = tuple[Value, ...]
Tables = dict[tuple[str, ...], dict[tuple[Key, ...], Rule]]
Entry = tuple[Rule, dict[str, tuple[Value, ...]]]

# So few rules are compared without splitting them.
FEW = 16


def find_conflict(rules: Iterable[Rule]) -> tuple[Rule, Rule] | None:
    """Two rules with one output variable that some assignment satisfies both, or None."""
    groups: dict[tuple[str, Value], Tables] = defaultdict(dict)
    for rule in rules:
        names = tuple([atom.variable for atom in rule.antecedent])
        values = tuple([atom.values for atom in rule.antecedent])
        table = groups[rule.output, rule.old].setdefault(names, {})
        if values in table:
            return table[values], rule
        table[values] = rule
    finds = (_find_in_tables(tables) for tables in groups.values())
    return next((found for found in finds if found), None)


def _find_in_tables(tables: Tables) -> tuple[Rule, Rule] | None:
    """As above, of rules of one output and old value, none of them twice."""
    if len(tables) == 1:
        (table,) = tables.values()
        if all(len(allowed) == 1 for values in table for allowed in values):
            return None  # same variables, one value each: different means exclusive
    return _find_in_group(
        [
            (rule, dict(zip(names, values, strict=True)))
            for names, table in tables.items()
            for values, rule in table.items()
        ]
    )


def _find_in_group(
    entries: list[Entry], parted: frozenset[str] = frozenset()
) -> tuple[Rule, Rule] | None:
    common = _common_variable(entries, parted) if len(entries) > FEW else None
    if common is None:
        return _find_by_shape(entries)
    parts: dict[Value, list[Entry]] = defaultdict(list)
    for entry in entries:
        for value in dict.fromkeys(entry[1][common]):
            parts[value].append(entry)
    finds = (_find_in_group(part, parted | {common}) for part in parts.values())
    return next((found for found in finds if found), None)


def _common_variable(entries: list[Entry], parted: frozenset[str]) -> str | None:
    """A variable that every rule names, the one with the most values; None if there is none."""
    names = frozenset.intersection(*(frozenset(allowed) for _, allowed in entries)) - parted
    values = {name: {v for _, allowed in entries for v in allowed[name]} for name in names}
    several = [name for name in values if len(values[name]) > 1]
    return max(several, key=lambda name: (len(values[name]), name), default=None)


def _find_by_shape(entries: list[Entry]) -> tuple[Rule, Rule] | None:
    tables: dict[tuple[str, ...], dict[Key, Rule]] = {}
    for rule, allowed in entries:
        names = tuple(sorted(allowed))
        table = tables.setdefault(names, {})
        for key in _keys(allowed, names):
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


def _keys(allowed: Mapping[str, tuple[Value, ...]], names: tuple[str, ...]) -> Iterable[Key]:
    """Every way to choose one of the values that a rule allows for each of `names`."""
    return itertools.product(*(dict.fromkeys(allowed[name]) for name in names))


def _project(
    table: dict[Key, Rule], names: tuple[str, ...], shared: tuple[str, ...]
) -> dict[Key, Rule]:
    places = [names.index(name) for name in shared]
    return {tuple(key[place] for place in places): rule for key, rule in table.items()}
