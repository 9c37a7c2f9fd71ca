"""Rules that could hold together, made exclusive where one condition does it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations

from espalier.language import Atom, Rule, Value, Variable

_Group = list[int]  # rules of one output that read the same variables, by number


def exclude(rules: Iterable[Rule], variables: Mapping[str, Variable]) -> tuple[list[Rule], int]:
    """The rules, of which no two write one variable together; and how many were narrowed.

    Of two that could, one is narrowed: it also requires that the one variable that only the other
    reads has a value with which the other does not hold. Where there is no such variable, both
    stay as they are.
    """
    found = list(rules)
    narrowed: dict[int, dict[str, set[Value]]] = defaultdict(lambda: defaultdict(set))
    groups: dict[str, dict[frozenset[str], _Group]] = defaultdict(lambda: defaultdict(list))
    for number, rule in enumerate(found):
        groups[rule.output][frozenset(a.variable for a in rule.antecedent)].append(number)
    for of_output in groups.values():
        for (reads, one), (others, other) in combinations(of_output.items(), 2):
            for first, later, more in ((one, other, reads - others), (other, one, others - reads)):
                if len(more) == 1 and more <= variables.keys():
                    _narrow(found, first, later, next(iter(more)), reads & others, narrowed)
                    break
    for number, conditions in narrowed.items():
        rule = found[number]
        atoms = tuple(
            Atom(name, tuple(v for v in variables[name].values if v not in taken))
            for name, taken in conditions.items()
        )
        found[number] = Rule.of_atoms((*rule.antecedent, *atoms), rule.output, rule.old, rule.new)
    never = {n for n in narrowed if not all(atom.values for atom in found[n].antecedent)}
    return [rule for number, rule in enumerate(found) if number not in never], len(narrowed)


def _narrow(
    rules: Sequence[Rule],
    first: _Group,
    later: _Group,
    name: str,
    shared: Collection[str],
    narrowed: dict[int, dict[str, set[Value]]],
) -> None:
    """Note for each later rule the values of `name` with which a first one would hold too."""
    there: dict[tuple[tuple[str, Value], ...], list[Rule]] = defaultdict(list)
    for number in first:
        there[_key(rules[number], shared)].append(rules[number])
    for number in later:
        for rule in there[_key(rules[number], shared)]:
            values = next(a.values for a in rule.antecedent if a.variable == name)
            narrowed[number][name].update(values)


def _key(rule: Rule, shared: Collection[str]) -> tuple[tuple[str, Value], ...]:
    held = {atom.variable: atom.values[0] for atom in rule.antecedent}
    return tuple(sorted(((name, held[name]) for name in shared), key=lambda pair: pair[0]))
