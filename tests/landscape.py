"""The regularised reconstruction loss of Appendix B, by definition.

Obvious on purpose: dense matrices made from the rules by eq. 8 to 10, the loss of eq. 17 over all
assignments, and parameters moved by hand. It knows nothing of counts or of lemmas. Values, alpha
and steps are all small multiples of a power of two, so that floats are exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import reference
from espalier.language import Numerical, Program, SetValued, show_value

Place = tuple[str, int, str]  # matrix, rule, row or column


def features(program: Program, seen: Mapping[str, object]) -> dict[str, bool]:
    """e_V: true for what each variable is, false for what it is not; null is nothing."""
    return {
        f"{name} = {show_value(value)}": seen[name] == value
        for name, spec in program.specs.items()
        for value in spec.values
    }


def written(program: Program, name: str, value: object) -> dict[str, float]:
    """A value as the dimensions of the residual stream that it fills."""
    spec = program.specs[name]
    if isinstance(spec, Numerical):
        if name in program.heads:
            # What a head found is cleared elsewhere; its reset takes out that it is defined.
            return {name: 0.0, f"{name} is defined": float(value is not None)}
        return {name: float(value)}
    if isinstance(spec, SetValued):
        return {f"{element} in {name}": float(element in value) for element in range(spec.size)}
    return {f"{name} = {v}": float(value == v) for v in spec.values}


@dataclass
class Landscape:
    """The loss as a function of parameters, which start as the compiled rules."""

    program: Program
    data: Sequence[Mapping[str, object]]  # distinct assignments as rules see them
    alpha: float
    square: bool = False

    def __post_init__(self) -> None:
        program, rules = self.program, list(self.program.rules)
        nothing = dict.fromkeys(program.specs)
        self.columns = list(features(program, nothing))
        self.rows = [
            row for name in program.specs for row in written(program, name, some(program, name))
        ]
        self.z = np.array(
            [list(features(program, here).values()) for here in self.data], dtype=float
        ).reshape(len(self.data), len(self.columns))
        self.theta = {
            "W1": np.zeros((len(rules), len(self.columns))),
            "b1": np.array([[1.0 - len(rule.antecedent)] for rule in rules]).reshape(-1, 1),
            "W2": np.zeros((len(rules), len(self.rows))),
        }
        for j, rule in enumerate(rules):
            for atom in rule.antecedent:
                for value in atom.values:
                    k = self.columns.index(f"{atom.variable} = {show_value(value)}")
                    self.theta["W1"][j, k] = 1
            for sign, value in ((-1, rule.old), (1, rule.new)):
                if value is not None:
                    for row, amount in written(program, rule.output, value).items():
                        self.theta["W2"][j, self.rows.index(row)] += sign * amount
        self.target = self.change(self.theta)
        self.here = self.loss(self.theta)

    def change(self, theta: dict[str, np.ndarray]) -> np.ndarray:
        """clip(W1 z + b1) through W2: what is added to the stream (eq. 2 to 4)."""
        g = self.z @ theta["W1"].T + theta["b1"].T
        return np.clip(g, 0, 1) @ theta["W2"]

    def loss(self, theta: dict[str, np.ndarray]) -> float:
        """Eq. 17."""
        power = 2 if self.square else 1
        size = sum((np.abs(matrix) ** power).sum() for matrix in theta.values())
        return self.alpha * size + np.abs(self.change(theta) - self.target).sum()

    def risen(self, moves: Mapping[Place, float]) -> float:
        """By how much the loss is higher when parameters have moved."""
        moved = {name: matrix.copy() for name, matrix in self.theta.items()}
        for place, by in moves.items():
            moved[place[0]][self.index(place)] += by
        return self.loss(moved) - self.here

    def value(self, place: Place) -> float:
        return self.theta[place[0]][self.index(place)]

    def index(self, place: Place) -> tuple[int, int]:
        matrix, rule, entry = place
        names = {"W1": self.columns, "b1": [""], "W2": self.rows}[matrix]
        return rule, names.index(entry)

    def places(self) -> list[Place]:
        return [
            (matrix, rule, entry)
            for matrix, names in (("W1", self.columns), ("b1", [""]), ("W2", self.rows))
            for rule in range(len(self.program.rules))
            for entry in names
        ]


def some(program: Program, name: str) -> object:
    return program.specs[name].values[0]


def distinct(data: Sequence[Mapping[str, object]], program: Program) -> list[dict[str, object]]:
    """Each assignment once, as rules see it."""
    found: list[dict[str, object]] = []
    for here in data:
        seen = reference.seen_by_rules(program.specs, here)
        if seen not in found:
            found.append(seen)
    return found
