"""Rules that differ in the value of one variable, joined into one: "x in S".

A one-hot block sums to 1, so `x in S` costs one hidden unit, as `x = 3` does: W1 has a 1 at every
value of S and the bias counts one constraint. The paper's counts are of rules before this pass.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from espalier.language.rules import Atom, Rule
from espalier.language.variables import Value


def merge_rules(rules: Iterable[Rule]) -> list[Rule]:
    """Fewer rules that mean the same, found greedily, one variable after another."""
    merged: dict[int, Rule] = dict(enumerate(rules))
    names = list(dict.fromkeys(atom.variable for r in merged.values() for atom in r.antecedent))
    numbers: dict[Atom, int] = {}
    sets = {place: _numbered(rule, numbers) for place, rule in merged.items()}
    while True:
        before = len(merged)
        for name in names:
            _merge_over(name, merged, sets, numbers)
        if len(merged) == before:
            return list(merged.values())


def _numbered(rule: Rule, numbers: dict[Atom, int]) -> frozenset[int]:
    """The antecedent as a set of numbers, one for each different atom: quick to compare."""
    return frozenset([numbers.setdefault(atom, len(numbers)) for atom in rule.antecedent])


def _merge_over(
    name: str, merged: dict[int, Rule], sets: dict[int, frozenset[int]], numbers: dict[Atom, int]
) -> None:
    """Join the rules that agree on everything but the values they allow for `name`."""
    groups: dict[Any, list[int]] = defaultdict(list)
    for place, rule in merged.items():
        # The old value is what W2 subtracts, so an output variable keeps its single value.
        atom = next((a for a in rule.antecedent if a.variable == name), None)
        if atom is not None and name != rule.output:
            rest = sets[place] - {numbers[atom]}
            groups[rule.output, rule.old, rule.new, rest].append(place)
    for first, *others in groups.values():
        if others:
            joined = _widen([merged[first], *(merged.pop(place) for place in others)], name)
            merged[first], sets[first] = joined, _numbered(joined, numbers)


def _widen(rules: list[Rule], name: str) -> Rule:
    # In one order, so that equal sets of values are equal atoms.
    allowed = [a.values for rule in rules for a in rule.antecedent if a.variable == name]
    values = tuple(sorted((value for group in allowed for value in group), key=_rank))
    first = rules[0]
    atoms = [Atom(name, values) if a.variable == name else a for a in first.antecedent]
    return Rule.of_atoms(tuple(atoms), first.output, first.old, first.new)


def _rank(value: Value) -> Any:
    return sorted(value) if isinstance(value, frozenset) else value
