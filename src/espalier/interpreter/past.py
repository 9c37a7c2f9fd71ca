"""The interpreter's cache: the keys and values of positions that were computed before.

In a causal program nothing that comes later changes a position, so its keys and values in each
layer are cached. Heads that look a few positions back need only the last few; those are stored in a
ring, position p in place p % size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from espalier.interpreter.batch import Column, Ints, Mask, State
from espalier.language import Numerical, Program

# A head that looks farther back than this is given the whole past.
NEAR = 64
# The place of what does not exist: after everything.
NOWHERE = np.iinfo(np.int64).max


@dataclass
class Past:
    """The variables that heads carry or match, as they were in one layer; one row per sequence."""

    columns: dict[str, Column]
    near: frozenset[str]  # the names whose columns are rings

    @staticmethod
    def empty(program: Program, rows: int, capacity: int) -> Past:
        """No positions yet, and room for `capacity`."""
        reaches = _reaches(program)
        columns: dict[str, Column] = {}
        for name, reach in reaches.items():
            shape = (rows, capacity if reach is None else reach)
            is_number = isinstance(program.specs[name], Numerical)
            columns[name] = np.zeros(shape) if is_number else np.zeros(shape, dtype=np.int64)
        near = frozenset(name for name, reach in reaches.items() if reach is not None)
        return Past(columns, near)

    def at(self, name: str, rows: Ints, positions: Ints) -> Column:
        """The values of `name` at cached positions."""
        column = self.columns[name]
        found: Column = column[rows, positions % column.shape[1]]
        return found

    def store(self, state: State) -> None:
        """Cache the positions of `state` as well."""
        rows, positions = state.batch.example, state.batch.position
        for name, column in self.columns.items():
            fits = positions >= state.batch.ends[rows] - column.shape[1]
            column[rows[fits], positions[fits] % column.shape[1]] = state.columns[name][fits]

    def keep(self, rows: Mask) -> Past:
        """The past of some rows."""
        return Past({name: column[rows] for name, column in self.columns.items()}, self.near)

    def copy(self) -> Past:
        """The same, apart."""
        return Past({name: column.copy() for name, column in self.columns.items()}, self.near)

    def widened(self, capacity: int) -> Past:
        """The same with room for more positions."""
        wider = dict(self.columns)
        for name in wider.keys() - self.near:
            old = self.columns[name]
            wider[name] = _zeros(len(old), capacity, old)
            wider[name][:, : old.shape[1]] = old
        return Past(wider, self.near)


def before(state: State, key: str, value: str) -> tuple[Ints, Column, Column]:
    """Position, key and value of everything that a sequence holds; one row per sequence."""
    batch = state.batch
    width = int(batch.lengths.max(initial=0))
    local = batch.position - batch.starts[batch.example]
    places = np.full((len(batch), width), NOWHERE)
    places[batch.example, local] = batch.position
    old = np.arange(int(batch.starts.max(initial=0)))
    there = np.where(old < batch.starts[:, None], old, NOWHERE)

    def everything(name: str) -> Column:
        grid = _zeros(len(batch), len(old) + width, state.columns[name])
        grid[batch.example, len(old) + local] = state.columns[name]
        if state.past is not None:
            grid[:, : len(old)] = state.past.columns[name][:, : len(old)]
        return grid

    return np.concatenate([there, places], axis=1), everything(key), everything(value)


def _zeros(rows: int, width: int, like: Column) -> Column:
    shape = (rows, width)
    return np.zeros(shape) if like.dtype.kind == "f" else np.zeros(shape, dtype=np.int64)


def _reaches(program: Program) -> dict[str, int | None]:
    """How far back heads look for each variable; None if they look everywhere."""
    reaches: dict[str, int | None] = {}
    for head in program.heads.values():
        offsets = head.relative_positions
        reach = None if offsets is None or -min(offsets) > NEAR else -min(offsets)
        for name in (head.key, head.value):
            if name is None or reach == 0:
                continue
            known = reaches.get(name, 0)
            reaches[name] = None if reach is None or known is None else max(reach, known)
    return reaches
