"""A ragged batch laid end to end: one array entry for each position, and no padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Column = NDArray[np.int64] | NDArray[np.float64]

NULL = -1


@dataclass(frozen=True)
class Batch:
    """Which sequence (`example`) and place (`position`) every entry belongs to."""

    inputs: Ints  # the number each sequence had among all inputs, for errors and results
    lengths: Ints
    example: Ints
    position: Ints

    @staticmethod
    def of(lengths: Sequence[int] | Ints, inputs: Ints | None = None) -> Batch:
        """The layout of sequences of these lengths."""
        sizes = np.asarray(lengths, dtype=np.int64)
        starts = np.cumsum(sizes) - sizes
        example = np.repeat(np.arange(len(sizes)), sizes)
        numbers = np.arange(len(sizes)) if inputs is None else inputs
        return Batch(numbers, sizes, example, np.arange(len(example)) - starts[example])

    def __len__(self) -> int:
        return len(self.lengths)

    def every(self, mask: Mask) -> Mask:
        """For each sequence, whether `mask` holds at all its positions."""
        return np.asarray(np.bincount(self.example[~mask], minlength=len(self)) == 0)

    def shifted(self, offset: int) -> tuple[Ints, Mask]:
        """For each entry, the entry `offset` to its right, and whether its sequence has one."""
        target = self.position + offset
        inside = (target >= 0) & (target < self.lengths[self.example])
        return np.where(inside, np.arange(len(target)) + offset, 0), inside


@dataclass(frozen=True)
class State:
    """The value of every variable at every entry of a batch, after `layer` layers.

    Categorical and set variables hold codes, -1 for null; numerical ones hold reals, NaN for null.
    """

    batch: Batch
    layer: int
    columns: dict[str, Column]

    def keep(self, sequences: Mask) -> State:
        """The state of the sequences chosen by `sequences`."""
        if sequences.all():
            return self
        entries = sequences[self.batch.example]
        batch = Batch.of(self.batch.lengths[sequences], self.batch.inputs[sequences])
        columns = {name: column[entries] for name, column in self.columns.items()}
        return State(batch, self.layer, columns)

    def equal(self, other: State) -> Mask:
        """For each sequence, whether the two states agree on every variable everywhere."""
        same = np.ones(len(self.batch.example), dtype=bool)
        for name, column in self.columns.items():
            theirs = other.columns[name]
            same &= (column == theirs) | ((column != column) & (theirs != theirs))
        return self.batch.every(same)

    def place(self, entry: int) -> str:
        """Where an entry is, in words for an error."""
        number = self.batch.inputs[self.batch.example[entry]]
        return f"layer {self.layer}, input {number}, position {self.batch.position[entry]}"
