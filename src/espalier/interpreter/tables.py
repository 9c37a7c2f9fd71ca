"""Rules as look-up tables: all rules over the same variables are answered by one array access.

A group's values are read as the digits of one number, null being the digit 0. A dense table
answers where the number is small; sorted keys and a binary search where it is not.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from espalier.interpreter.batch import NULL, Ints
from espalier.language import Program, Rule, Variable

# What a table answers beside a new code (>= 0) and NULL (-1).
UNDEFINED = -2  # a rule holds but for variables that are null here
NO_RULE = -3

DENSE_LIMIT = 1 << 22


@dataclass(frozen=True)
class RuleTable:
    """The rules of `output` whose antecedents are over `variables`."""

    output: str
    variables: tuple[str, ...]
    strides: tuple[int, ...]
    answers: Ints
    keys: Ints | None  # sorted; None where `answers` is dense

    def look_up(self, digits: Mapping[str, Ints]) -> Ints:
        """For each entry, the new code, NULL, UNDEFINED or NO_RULE."""
        pairs = zip(self.variables, self.strides, strict=True)
        name, stride = next(pairs)
        number = digits[name] * stride if stride != 1 else digits[name]
        for name, stride in pairs:
            number = number + (digits[name] * stride if stride != 1 else digits[name])
        if self.keys is None:
            return self.answers[number]
        place = np.minimum(np.searchsorted(self.keys, number), len(self.keys) - 1)
        return np.where(self.keys[place] == number, self.answers[place], NO_RULE)


def tabulate(program: Program) -> dict[str, list[RuleTable]]:
    """For each output variable that has rules, its tables."""
    groups: dict[tuple[str, tuple[str, ...]], list[Rule]] = defaultdict(list)
    order = {name: place for place, name in enumerate(program.specs)}
    for rule in program.rules:
        names = sorted((atom.variable for atom in rule.antecedent), key=order.__getitem__)
        groups[rule.output, tuple(names)].append(rule)
    tables: dict[str, list[RuleTable]] = defaultdict(list)
    for (output, over), rules in groups.items():
        tables[output].append(_table(output, over, rules, program.specs, frozenset(program.heads)))
    return dict(tables)


def _table(
    output: str,
    names: tuple[str, ...],
    rules: Iterable[Rule],
    specs: Mapping[str, Variable],
    nullable: frozenset[str],
) -> RuleTable:
    sizes = [len(specs[name].values) + 1 for name in names]
    strides = [math.prod(sizes[place + 1 :]) for place in range(len(names))]
    codes = {name: {v: c + 1 for c, v in enumerate(specs[name].values)} for name in names}
    found: dict[int, int] = {}
    for rule in rules:
        allowed = {atom.variable: atom.values for atom in rule.antecedent}
        choices = [
            [codes[name][value] * stride for value in allowed[name]]
            for name, stride in zip(names, strides, strict=True)
        ]
        new = NULL if rule.new is None else codes[output][rule.new] - 1
        found.update(dict.fromkeys(map(sum, itertools.product(*choices)), new))
        if not rule.is_reset:
            # The rule reads a null variable where all its other conditions hold.
            blurred = [
                [*choice, 0] if name in nullable else choice
                for name, choice in zip(names, choices, strict=True)
            ]
            for number in map(sum, itertools.product(*blurred)):
                found.setdefault(number, UNDEFINED)
    return _pack(output, names, tuple(strides), found, math.prod(sizes))


def _pack(
    output: str,
    names: tuple[str, ...],
    strides: tuple[int, ...],
    found: dict[int, int],
    size: int,
) -> RuleTable:
    keys = np.fromiter(found.keys(), dtype=np.int64, count=len(found))
    answers = np.fromiter(found.values(), dtype=np.int64, count=len(found))
    if size <= DENSE_LIMIT:
        dense = np.full(size, NO_RULE, dtype=np.int64)
        dense[keys] = answers
        return RuleTable(output, names, strides, dense, None)
    order = np.argsort(keys)
    return RuleTable(output, names, strides, answers[order], keys[order])
