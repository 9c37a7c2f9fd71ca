"""Plain data: the contract between whoever makes weights and the network that runs them.

Compiled matrices are almost all zero, so they are given by their entries. Letters as in `axes`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from espalier.results import Described

# A field that is left out of records where it is None, as in weights of earlier versions.
LEFT_OUT: dict[str, Any] = {"left out": True}


@dataclass(frozen=True, repr=False)
class Sparse(Described):
    """A matrix given by its nonzero entries, sorted by row and then by column."""

    shape: tuple[int, int]
    rows: Tensor
    columns: Tensor
    values: Tensor

    def __post_init__(self) -> None:
        if not len(self.rows) == len(self.columns) == len(self.values):
            raise ValueError("a sparse matrix needs as many rows and columns as values")
        for places, size in ((self.rows, self.shape[0]), (self.columns, self.shape[1])):
            if len(places) and not 0 <= int(places.min()) <= int(places.max()) < size:
                raise ValueError(f"a sparse matrix of shape {self.shape} has an entry outside it")

    @staticmethod
    def of(
        shape: tuple[int, int],
        entries: Iterable[tuple[int, int, float]],
        dtype: torch.dtype = torch.float32,
    ) -> Sparse:
        """The matrix with these (row, column, value) entries; no place may be given twice."""
        ordered = sorted(entries)
        assert len({(row, column) for row, column, _ in ordered}) == len(ordered)
        rows, columns, values = zip(*ordered, strict=True) if ordered else ((), (), ())
        assert not ordered or (max(rows) < shape[0] and max(columns) < shape[1])
        return Sparse(
            shape,
            torch.tensor(rows, dtype=torch.long),
            torch.tensor(columns, dtype=torch.long),
            torch.tensor(values, dtype=torch.float64).to(dtype),
        )

    @staticmethod
    def of_dense(matrix: Tensor) -> Sparse:
        """The same matrix, by those of its entries that are not zero."""
        rows, columns = matrix.nonzero(as_tuple=True)
        height, width = matrix.shape
        return Sparse((height, width), rows, columns, matrix[rows, columns])

    @property
    def density(self) -> float:
        """The share of entries that are given."""
        return len(self.values) / max(1, self.shape[0] * self.shape[1])

    def dense(self) -> Tensor:
        """The whole matrix."""
        matrix = torch.zeros(self.shape, dtype=self.values.dtype, device=self.values.device)
        matrix[self.rows, self.columns] = self.values
        return matrix

    def same_as(self, other: Sparse) -> bool:
        """Whether the two are the same matrix."""
        return (
            self.shape == other.shape
            and torch.equal(self.rows, other.rows)
            and torch.equal(self.columns, other.columns)
            and torch.equal(self.values, other.values)
        )


@dataclass(frozen=True, repr=False)
class RelativeBias(Described):
    """What is added to a logit for each j - i from `first` on; -inf outside the table."""

    first: int
    table: Tensor

    @property
    def offsets(self) -> tuple[int, ...]:
        """The relative positions that can be attended to."""
        allowed = torch.isfinite(self.table).nonzero().flatten().tolist()
        return tuple(self.first + place for place in allowed)


@dataclass(frozen=True, repr=False)
class MeanWeights(Described):
    """How a numerical head divides what it has summed by its last value dimension, the count.

    With a `base` the sums are digits of one number, divided as such and rounded up at the end.
    """

    base: float | None
    sums_wide: bool  # the sums need float64


@dataclass(frozen=True, repr=False)
class HeadWeights(Described):
    """One attention head. The sink is one more logit, whose value is the zero vector."""

    query: Sparse  # K x D
    key: Sparse  # K x D
    value: Sparse  # width of the value x D
    output: Sparse  # D x width of the value
    sink: float
    relative_bias: RelativeBias | None = None
    mean: MeanWeights | None = None  # of a head that averages numbers exactly


@dataclass(frozen=True, repr=False)
class ExpansionWeights(Described):
    """Layers of clipped ReLU that turn numbers, sets and averages into one-hot features.

    The one in the middle is there where the parts of numbers are compared one after another.
    """

    inner: Sparse
    inner_bias: Tensor
    outer: Sparse
    outer_bias: Tensor
    middle: Sparse | None = None
    middle_bias: Tensor | None = None


@dataclass(frozen=True, repr=False)
class FeedForwardWeights(Described):
    """Appendix B's MLP: z + W2 clip(W1 y + b1), y being z and then the expansion's features."""

    w1: Sparse  # R x (D + features)
    b1: Tensor  # R
    w2: Sparse  # D x R
    expansion: ExpansionWeights | None = None


@dataclass(frozen=True, repr=False)
class HaltWeights(Described):
    """A position is done when residual dimension `dimension` is above one half.

    In a stream whose dimensions are not meanings, when its product with `direction` is; two such
    streams hold the same where no number differs by more than `tolerance`.
    """

    dimension: int
    direction: Tensor | None = field(default=None, metadata=LEFT_OUT)  # D
    tolerance: float | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True, repr=False)
class Weights(Described):
    """A Transformer with one shared layer: an encoder, or a decoder if it is causal."""

    token_embedding: Tensor  # V x D
    position_embedding: Tensor | None  # P x D
    heads: tuple[HeadWeights, ...]
    feedforward: FeedForwardWeights
    unembedding: Sparse  # O x D
    halt: HaltWeights | None = None
    # A sequence may be at most this long, because an average over more positions is too coarse.
    longest: int | None = None
    why: str = ""  # and what a longer one could not distinguish
    # A position attends to itself and to its left, and stays as it is once it has halted.
    causal: bool = False
