"""What `local_optimum` found: the verdict, the parameters that offend, and all derivatives."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from espalier.language import Atom, Rule
from espalier.learnability.parameters import Floats, RuleParameters
from espalier.results import Result

if TYPE_CHECKING:
    import pandas

Matrix = Literal["W1", "b1", "W2"]


@dataclass(frozen=True)
class Derivatives:
    """Of the reconstruction loss, for every parameter: right ones, and left ones negated.

    Those of W2 are the same on both sides and in all rows; there is one a rule.
    """

    w1_right: Floats
    w1_left: Floats
    b1_right: Floats
    b1_left: Floats
    w2: Floats


@dataclass(frozen=True)
class Parameter:
    """One parameter, its rule, and the one-sided derivatives of the regularised loss there."""

    matrix: Matrix
    number: int  # of the rule
    rule: Rule
    entry: str  # the column of W1 or the row of W2, in words
    value: float
    left: float
    right: float

    @property
    def name(self) -> str:
        """The parameter among those of its rule."""
        return f"{self.matrix}[{self.entry}]" if self.entry else self.matrix

    def __str__(self) -> str:
        return (
            f"{self.name} = {self.value:g} of rule {self.number} [{self.rule}]: derivatives "
            f"{self.left:+g} and {self.right:+g}"
        )


@dataclass(frozen=True, repr=False)
class LocalOptimum(Result):
    """Whether the rules' parameters are a strict coordinate-wise local optimum, and why not.

    >>> import espalier as es
    >>> entry = es.zoo.load("parity-sequential-relative")
    >>> es.local_optimum(entry.program, [entry.encode("0")]).holds
    False
    """

    parameters: RuleParameters
    assignments: int  # distinct ones that the MLP sees
    alpha: float
    penalty: Literal["l1", "l2"]
    derivatives: Derivatives = field(repr=False)
    removable: tuple[tuple[Rule, Atom], ...]
    """Conditions that no assignment fails alone, so that Definition 1 does not hold.

    Theorem 1 says that then the parameters are no strict coordinate-wise optimum. That is so if all
    conditions of a rule are such; if one is not, every single parameter is still held in place.
    But the loss falls if W1 at the condition and b1 move together, since no output changes. A
    condition on an output variable is not listed: B.1 does not let it go.
    """
    guards: tuple[tuple[Rule, Atom], ...]
    """Those of `removable` that keep a rule from reading a null.

    To weights, null satisfies nothing; the interpreter, and so `es.minimal`, needs them.
    """

    @property
    def holds(self) -> bool:
        """Whether every parameter is at a strict minimum of the loss along its own axis."""
        return not self.offending

    @property
    def minimal(self) -> bool:
        """Whether the rule set satisfies Definition 1: no rule and no condition can be removed."""
        return bool((self.derivatives.w2 > 0).all()) and not self.removable

    @cached_property
    def bound(self) -> float:
        """The least alpha with which some parameter offends; infinite if there are no rules."""
        p, d = self.parameters, self.derivatives
        reads, biased = p.w1 != 0, p.b1 != 0
        pushes = [*d.w1_left[reads], *d.b1_right[biased]]
        pulled = [*p.w1[reads], *p.b1[biased]]
        for column, push in zip(p.w2, d.w2, strict=True):
            pushes += [push] * len(column)
            pulled += column.values()
        scales = [1.0 if self.penalty == "l1" else 2 * abs(value) for value in pulled]
        return float(min(map(operator.truediv, pushes, scales), default=math.inf))

    @cached_property
    def offending(self) -> tuple[Parameter, ...]:
        """The parameters that are not at a strict minimum."""
        return tuple(p for p in self._nonzero if not self._is_strict(p))

    @cached_property
    def count(self) -> int:
        """How many parameters there are, zeros included."""
        rules, columns = self.parameters.w1.shape
        return int(rules * (columns + 1 + len(self.parameters.rows)))

    def to_frame(self, *, zeros: bool = False) -> pandas.DataFrame:
        """One row per nonzero parameter (or every one): derivatives and whether it offends.

        A parameter at zero never offends (Lemma 2).
        """
        import pandas as pd

        listed = self._each(zeros=True) if zeros else self._nonzero
        rows = [
            (p.matrix, p.number, str(p.rule), p.entry, p.value, p.left, p.right, self._is_strict(p))
            for p in listed
        ]
        names = ["matrix", "number", "rule", "entry", "value", "left", "right", "strict"]
        return pd.DataFrame(rows, columns=names)

    @cached_property
    def _nonzero(self) -> tuple[Parameter, ...]:
        return tuple(self._each(zeros=False))

    def _each(self, *, zeros: bool) -> Iterator[Parameter]:
        p, d = self.parameters, self.derivatives
        for n in range(len(p.b1)):
            for column in range(len(p.columns)) if zeros else p.w1[n].nonzero()[0]:
                slopes = (d.w1_left[n, column], d.w1_right[n, column])
                yield self._parameter("W1", n, p.columns[column], p.w1[n, column], slopes)
            if zeros or p.b1[n]:
                yield self._parameter("b1", n, "", p.b1[n], (d.b1_left[n], d.b1_right[n]))
            for row in p.rows if zeros else p.w2[n]:
                slopes = (d.w2[n], d.w2[n])
                yield self._parameter("W2", n, row, p.w2[n].get(row, 0.0), slopes)

    def _parameter(
        self, matrix: Matrix, number: int, entry: str, value: float, slopes: tuple[float, float]
    ) -> Parameter:
        """The parameter with the penalty's derivatives (eq. 20 and 21) added to the data's."""
        left, right = (float(slope) for slope in slopes)
        match self.penalty:
            case "l1":
                below = self.alpha if value > 0 else -self.alpha
                above = -self.alpha if value < 0 else self.alpha
            case "l2":
                below = above = 2 * self.alpha * float(value)
        rule = self.parameters.program.rules[number]
        return Parameter(matrix, number, rule, entry, float(value), below - left, above + right)

    def _is_strict(self, parameter: Parameter) -> bool:
        """Whether the loss rises on both sides; squares bend upwards where a slope is 0."""
        if self.penalty == "l2":
            return parameter.left <= 0 <= parameter.right
        return parameter.left < 0 < parameter.right
