"""The result of comparing the two machines: how much was compared, and where they disagree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from espalier.results import Result

if TYPE_CHECKING:
    import pandas

# Disagreements that are stored; all are counted.
KEPT = 1000


@dataclass(frozen=True)
class Disagreement:
    """A place where the weights do not say what the interpreter says."""

    input: int
    layer: int
    sublayer: str
    position: int
    variable: str
    interpreter: str
    weights: str

    def __str__(self) -> str:
        return (
            f"input {self.input}, layer {self.layer} after {self.sublayer}, position "
            f"{self.position}: {self.variable} is {self.interpreter} in the interpreter and "
            f"{self.weights} in the weights"
        )


@dataclass(repr=False)
class Verification(Result):
    """Whether interpreter and weights agree on a batch, and where they do not.

    `errors` are inputs that the interpreter itself refuses, by number: there is nothing to
    compare, and a program that should run on them is wrong. `edited` says that the weights are
    not those that the program compiled to.

    >>> Verification(2, layers=5, values=172).ok
    True
    """

    inputs: int
    layers: int = 0
    values: int = 0
    count: int = 0
    disagreements: list[Disagreement] = field(default_factory=list)
    errors: dict[int, str] = field(default_factory=dict)
    edited: bool = False

    @property
    def ok(self) -> bool:
        """True if every input ran and every value agreed."""
        return not self.count and not self.errors

    def add(self, found: Iterable[Disagreement]) -> None:
        """Count disagreements, and store those of the first inputs."""
        for one in found:
            self.count += 1
            self.disagreements.append(one)
            if len(self.disagreements) == 2 * KEPT:
                self.keep_first()

    def keep_first(self) -> None:
        """Sort by input, and drop the disagreements beyond the limit."""
        self.disagreements.sort(key=lambda one: one.input)
        del self.disagreements[KEPT:]
        self.errors = dict(sorted(self.errors.items()))

    @classmethod
    def of(cls, parts: Iterable[Verification], *, edited: bool) -> Verification:
        """The verification of all inputs, from those of parts of them."""
        total = cls(0, edited=edited)
        for part in parts:
            total.disagreements += part.disagreements[: KEPT - len(total.disagreements)]
            total.errors |= part.errors
            for name in ("inputs", "layers", "values", "count"):
                setattr(total, name, getattr(total, name) + getattr(part, name))
        return total

    def to_frame(self) -> pandas.DataFrame:
        """One row per disagreement."""
        import pandas as pd

        names = list(Disagreement.__dataclass_fields__)
        rows = [[getattr(one, name) for name in names] for one in self.disagreements]
        return pd.DataFrame(rows, columns=names)
