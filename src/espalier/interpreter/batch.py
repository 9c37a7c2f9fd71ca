"""A ragged batch laid end to end: one array entry for each position, and no padding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from espalier.interpreter.past import Past

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Column = NDArray[np.int64] | NDArray[np.float64]

NULL = -1


@dataclass(frozen=True)
class Batch:
    """Which sequence (`example`) and place (`position`) every entry belongs to.

    The positions of a sequence begin at its `starts`: at 0, or later where a decoder continues.
    """

    inputs: Ints  # the number each sequence had among all inputs, for errors and results
    lengths: Ints
    starts: Ints
    example: Ints
    position: Ints

    @staticmethod
    def of(
        lengths: Sequence[int] | Ints, inputs: Ints | None = None, starts: Ints | None = None
    ) -> Batch:
        """The layout of sequences of these lengths."""
        sizes = np.asarray(lengths, dtype=np.int64)
        example = np.repeat(np.arange(len(sizes)), sizes)
        numbers = np.arange(len(sizes)) if inputs is None else inputs
        firsts = np.zeros_like(sizes) if starts is None else starts
        position = np.arange(len(example)) + (firsts - np.cumsum(sizes) + sizes)[example]
        return Batch(numbers, sizes, firsts, example, position)

    def __len__(self) -> int:
        return len(self.lengths)

    def every(self, mask: Mask) -> Mask:
        """For each sequence, whether `mask` holds at all its positions."""
        return np.asarray(np.bincount(self.example[~mask], minlength=len(self)) == 0)

    @property
    def ends(self) -> Ints:
        """For each sequence, the position after its last."""
        return self.starts + self.lengths

    def shifted(self, offset: int) -> tuple[Ints, Mask]:
        """For each entry, the entry `offset` to its right, and whether its sequence has one."""
        target = self.position + offset
        inside = (target >= self.starts[self.example]) & (target < self.ends[self.example])
        return np.where(inside, np.arange(len(target)) + offset, 0), inside


@dataclass(frozen=True)
class State:
    """The value of every variable at every entry of a batch, after `layer` layers.

    Categorical and set variables hold codes, -1 for null; numerical ones hold reals, NaN for null.
    `past` is what heads see of earlier positions, where a decoder continues a text.
    `resting` is where positions of a causal program sit out the layer that attention began. Only
    heads' outputs are null, unless interventions have made the state `nullable`. `whole` is the
    state that some entries were taken from: what a head reports depends on all positions.
    """

    batch: Batch
    layer: int
    columns: dict[str, Column]
    past: Past | None = None
    resting: Mask | None = None
    nullable: bool = False
    whole: State | None = None

    def keep(self, sequences: Mask) -> State:
        """The state of the sequences chosen by `sequences`."""
        if sequences.all():
            return self
        entries = sequences[self.batch.example]
        batch = Batch.of(self.batch.lengths[sequences], self.batch.inputs[sequences])
        columns = {name: column[entries] for name, column in self.columns.items()}
        return State(batch, self.layer, columns, nullable=self.nullable)

    def take(self, entries: Mask) -> State:
        """These entries alone, for what is computed position by position."""
        example, position = self.batch.example[entries], self.batch.position[entries]
        batch = replace(self.batch, example=example, position=position)
        columns = {name: column[entries] for name, column in self.columns.items()}
        resting = None if self.resting is None else self.resting[entries]
        whole = self if self.whole is None else self.whole
        return replace(self, batch=batch, columns=columns, resting=resting, whole=whole)

    def put(self, entries: Mask, other: State) -> State:
        """The state with `other` at these entries."""
        columns = {name: column.copy() for name, column in self.columns.items()}
        for name, column in columns.items():
            column[entries] = other.columns[name]
        return replace(self, columns=columns)

    def equal(self, other: State, names: Iterable[str]) -> Mask:
        """For each sequence, whether the two states agree on these variables everywhere."""
        same = np.ones(len(self.batch.example), dtype=bool)
        for name in names:
            column, theirs = self.columns[name], other.columns[name]
            same &= (column == theirs) | ((column != column) & (theirs != theirs))
        return self.batch.every(same)

    def place(self, entry: int) -> str:
        """Where an entry is, for an error message."""
        number = self.batch.inputs[self.batch.example[entry]]
        return f"layer {self.layer}, input {number}, position {self.batch.position[entry]}"
