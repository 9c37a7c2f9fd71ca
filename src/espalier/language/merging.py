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
    merged = list(rules)
    names = list(dict.fromkeys(atom.variable for rule in merged for atom in rule.antecedent))
    while True:
        before = len(merged)
        for name in names:
            merged = _merge_over(name, merged)
        if len(merged) == before:
            return merged


def _merge_over(name: str, rules: list[Rule]) -> list[Rule]:
    """Join the rules that agree on everything but the values they allow for `name`."""
    groups: dict[Any, list[tuple[Value, ...]]] = defaultdict(list)
    examples: dict[Any, Rule] = {}
    for rule in rules:
        rest = frozenset(atom for atom in rule.antecedent if atom.variable != name)
        mentions = len(rest) < len(rule.antecedent)
        # The old value is what W2 subtracts, so an output variable keeps its single value.
        identity = (
            (rule.output, rule.old, rule.new, rest)
            if mentions and name != rule.output
            else (len(examples), rule)
        )
        examples.setdefault(identity, rule)
        groups[identity].extend(a.values for a in rule.antecedent if a.variable == name)
    return [
        _widen(rule, name, groups[identity]) if len(groups[identity]) > 1 else rule
        for identity, rule in examples.items()
    ]


def _widen(rule: Rule, name: str, allowed: list[tuple[Value, ...]]) -> Rule:
    # In one order, so that equal sets of values are equal atoms.
    values = tuple(sorted((value for group in allowed for value in group), key=_rank))
    atoms = [Atom(name, values) if atom.variable == name else atom for atom in rule.antecedent]
    return Rule(atoms, rule.output, rule.old, rule.new)


def _rank(value: Value) -> Any:
    return sorted(value) if isinstance(value, frozenset) else value
