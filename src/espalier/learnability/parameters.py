"""The MLP's parameters as the paper's Appendix B has them, and what data say of each (eq. 8 to 12).

W1 has a column for every value of every variable, the paper's m(k, v); W2 has a row for every
dimension that rules write. `x in S` has a 1 at each value of S and counts as one condition.

For variables that are not categorical this is what applies: conditions on numbers and sets are read
from one-hot features, so W1 and b1 are as in the paper. W2 writes a set element by element, and a
number as the difference of its two buckets. The layers that make the features, and the units that
clear a number or carry its remainder, belong to no rule and are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from espalier.interpreter import Ints
from espalier.language import Categorical, Numerical, Program, Rule, SetValued, Value, show_value
from espalier.learnability.assignments import Assignments
from espalier.results import Described

Floats = NDArray[np.float64]

# Assignments processed together. Counts of a block are exact in float32.
BLOCK = 4096


@dataclass(frozen=True, repr=False)
class RuleParameters(Described):
    """W1 (one row per rule), b1, and the entries of W2 that are not zero (one dict per rule)."""

    program: Program
    w1: Floats
    b1: Floats
    w2: tuple[dict[str, float], ...]

    @cached_property
    def columns(self) -> list[str]:
        """What each column of W1 means."""
        return [
            f"{name} = {show_value(value)}"
            for name, spec in self.program.specs.items()
            for value in spec.values
        ]

    @cached_property
    def rows(self) -> list[str]:
        """What each row of W2 means."""
        return [row for name in self.program.specs for row in _dimensions(self.program, name)]

    @cached_property
    def reach(self) -> Floats:
        """For each rule, by how much the output moves with its hidden unit: sum_i |W2_ij|."""
        return np.array([sum(map(abs, column.values())) for column in self.w2], dtype=np.float64)


@dataclass(frozen=True)
class Evidence:
    """Over the assignments: where each rule holds (g = 1), and fails one condition (g = 0).

    The `_with` matrices count those in which each column of W1 is 1.
    """

    holds: Ints
    nearly: Ints
    holds_with: Ints
    nearly_with: Ints


def rule_parameters(program: Program) -> RuleParameters:
    """W1, b1 and W2 as the rules are compiled (eq. 8 to 10)."""
    starts = _starts(program)
    width = sum(len(spec.values) for spec in program.specs.values())
    w1 = np.zeros((len(program.rules), width))
    for unit, rule in enumerate(program.rules):
        for atom in rule.antecedent:
            spec = program.specs[atom.variable]
            w1[unit, [starts[atom.variable] + spec.code(value) for value in atom.values]] = 1
    b1 = np.array([1.0 - len(rule.antecedent) for rule in program.rules], dtype=np.float64)
    return RuleParameters(program, w1, b1, tuple(_written(program, rule) for rule in program.rules))


def gather(parameters: RuleParameters, assignments: Assignments) -> Evidence:
    """What the assignments say of every rule, a block at a time."""
    w1, b1 = parameters.w1.astype(np.float32), parameters.b1.astype(np.float32)
    starts = np.array(list(_starts(parameters.program).values()))
    holds_with, nearly_with = (np.zeros(w1.shape, dtype=np.int64) for _ in range(2))
    holds, nearly = (np.zeros(len(b1), dtype=np.int64) for _ in range(2))
    for first in range(0, len(assignments), BLOCK):
        codes = assignments.codes[first : first + BLOCK]
        z = np.zeros((len(codes), w1.shape[1]), dtype=np.float32)
        entry, variable = np.nonzero(codes >= 0)  # null is the zero vector
        z[entry, starts[variable] + codes[entry, variable]] = 1
        g = z @ w1.T + b1
        for value, count, count_with in ((1, holds, holds_with), (0, nearly, nearly_with)):
            there = (g == value).astype(np.float32)
            count += there.sum(axis=0, dtype=np.float64).astype(np.int64)
            count_with += (there.T @ z).astype(np.int64)
    return Evidence(holds, nearly, holds_with, nearly_with)


def nearly_without(parameters: RuleParameters, evidence: Evidence, unit: int, variable: str) -> int:
    """How many assignments fail no condition of a rule but the one on `variable`."""
    rule, start = parameters.program.rules[unit], _starts(parameters.program)[variable]
    spec = parameters.program.specs[variable]
    (atom,) = (atom for atom in rule.antecedent if atom.variable == variable)
    allowed = [start + spec.code(value) for value in atom.values]
    return int(evidence.nearly[unit] - evidence.nearly_with[unit, allowed].sum())


def _starts(program: Program) -> dict[str, int]:
    """The first column of each variable."""
    sizes = [len(spec.values) for spec in program.specs.values()]
    firsts = np.cumsum([0, *sizes])[:-1].tolist()
    return dict(zip(program.specs, firsts, strict=True))


def _dimensions(program: Program, name: str) -> list[str]:
    match program.specs[name]:
        case Categorical(size):
            return [f"{name} = {value}" for value in range(size)]
        case SetValued(size):
            return [f"{element} in {name}" for element in range(size)]
        case Numerical():
            return [name, f"{name} is defined"] if name in program.heads else [name]


def _written(program: Program, rule: Rule) -> dict[str, float]:
    """Old value out, new value in: a column of W2."""
    match program.specs[rule.output]:
        case Numerical():
            if rule.new is None:
                return {f"{rule.output} is defined": -1.0}
            assert isinstance(rule.old, float)
            assert isinstance(rule.new, float)
            return {rule.output: rule.new - rule.old}
        case SetValued():
            old, new = _elements(rule.old), _elements(rule.new)
            signs = dict.fromkeys(new - old, 1.0) | dict.fromkeys(old - new, -1.0)
            return {f"{element} in {rule.output}": signs[element] for element in sorted(signs)}
        case Categorical():
            column = {f"{rule.output} = {rule.old}": -1.0}
            return column if rule.new is None else column | {f"{rule.output} = {rule.new}": 1.0}


def _elements(value: Value | None) -> frozenset[int]:
    assert isinstance(value, frozenset)
    return value
