"""The interdependence of every two words of a sentence, as a matrix that shows itself."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from jaxtyping import Float

from espalier.data import Parsed
from espalier.decomposition.allocations import Allocation
from espalier.decomposition.dependence import Dependence, by_definition, depend
from espalier.decomposition.inputs import ReadWords
from espalier.decomposition.parts import Space
from espalier.errors import DataError
from espalier.nets.lstm import LanguageModel
from espalier.results import Result

if TYPE_CHECKING:
    import pandas


Matrix = TypeVar("Matrix", bound="PairMatrix")


@dataclass(frozen=True, repr=False, eq=False)
class PairMatrix(ReadWords, Result):
    """A number for every two words l < r in `values[l, r]`; NaN elsewhere and where undefined.

    `passes` is its cost, in runs of the model over the sentence. A `parse` is shown next to it.

    >>> from espalier.decomposition import InputHessian, interaction_baseline
    >>> from espalier.nets.lstm import language_model
    >>> model = language_model(vocabulary_size=9, hidden=4)
    >>> matrix = interaction_baseline(model, [1, 2, 3], method=InputHessian())
    >>> matrix.values.shape, len(matrix.to_frame())
    ((3, 3), 3)
    """

    words: tuple[str, ...]
    ids: tuple[int, ...]
    values: Float[np.ndarray, "N N"]
    space: Space
    unknown_at: tuple[int, ...]
    method: str
    passes: float
    parse: Parsed | None = field(default=None, kw_only=True)

    def beside(self: Matrix, parse: Parsed) -> Matrix:
        """The same with the sentence's dependencies, which pictures and pages then show."""
        if len(parse.words) != len(self.words):
            raise DataError(
                f"the parse {parse.name!r} has {len(parse.words)} words, the sentence "
                f"{len(self.words)}; give the parse of this sentence"
            )
        for place, (mine, other) in enumerate(zip(self.words, parse.words, strict=True)):
            if mine != other:
                raise DataError(f"word {place} is {mine!r}, but {other!r} in {parse.name!r}")
        return replace(self, parse=parse)

    def reading(self: Matrix, words: tuple[str, ...], unknown_at: tuple[int, ...]) -> Matrix:
        """The same with the words as they were written."""
        return replace(self, words=words, unknown_at=unknown_at)

    @property
    def undefined(self) -> int:
        """How many pairs contribute nothing together, so that they have no number."""
        return int(np.isnan(self.values[np.triu_indices(len(self.words), 1)]).sum())

    def to_frame(self) -> pandas.DataFrame:
        """One row per pair: places, words, distance and DI."""
        import pandas as pd

        left, right = np.triu_indices(len(self.words), 1)
        return pd.DataFrame(
            {
                "left": left,
                "right": right,
                "left_word": [self.words[place] for place in left],
                "right_word": [self.words[place] for place in right],
                "distance": right - left,
                "value": self.values[left, right],
            }
        )


@dataclass(frozen=True, repr=False, eq=False)
class Pairs(PairMatrix):
    """`values[l, r]` is DI of words l < r, read after r.

    >>> import espalier as es
    >>> pairs = es.interdependence(es.language_model(vocabulary_size=9, hidden=4), [1, 2, 3])
    >>> pairs.undefined, bool(pairs.interaction(0, 2) >= 0)
    (0, True)
    """

    model: LanguageModel
    allocation: Allocation

    @cached_property
    def error(self) -> float:
        """The largest difference of a value from the definition's in double precision, relative."""
        left, right = np.triu_indices(len(self.words), 1)
        wanted = by_definition(self.model, self.ids, space=self.space, allocation=self.allocation)
        apart = np.abs(self.values - wanted)[left, right]
        defined = apart[wanted[left, right] > 0] / wanted[left, right][wanted[left, right] > 0]
        return float(defined.max(initial=0.0))

    def interaction(self, left: int, right: int) -> Dependence:
        """One pair with its vectors: the joint contribution, and the part that is no sum."""
        return depend(
            self.model, self.ids, a=[left], b=[right], space=self.space, allocation=self.allocation
        )
