"""Sequences of different lengths laid out in rows, several to a row, so that little is padding.

The layout is made once, from bounds on the lengths, and is the same for every batch: a captured
step cannot have another shape each time.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import torch
from jaxtyping import Bool, Int
from torch import Tensor

BESIDE = 3  # sequences in a row at most: each brings its input's positions to every token of it


@dataclass(frozen=True, eq=False)
class Packing:
    """R rows of W cells, with up to S sequences each.

    Slot s of row r belongs to sequence `slots[r, s]`. `parts` are cells' slots, S where a cell is
    empty; `sequences` whose they are, and `places` count from the start of each. What belongs to
    none says 0.
    """

    slots: Int[Tensor, "R S"]
    parts: Int[Tensor, "R W"]
    sequences: Int[Tensor, "R W"]
    places: Int[Tensor, "R W"]

    @classmethod
    def of(cls, widths: Sequence[int]) -> Packing:
        """Sequences of at most these lengths: the longest first, each into the emptiest row.

        There are as few rows as that allows.

        >>> Packing.of([3, 9, 5]).slots.tolist()
        [[1, 0], [2, 0]]
        >>> Packing.of([3, 9, 5]).parts.tolist()
        [[0, 0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1, 1, 1, 2]]
        """
        size = max(widths)
        tries = (_spread(widths, count, size) for count in range(_fewest(widths), len(widths) + 1))
        rows = next(found for found in tries if found is not None)
        beside, cells = max(map(len, rows)), (len(rows), size)
        slots, parts = torch.zeros(len(rows), beside).long(), torch.full(cells, beside)
        sequences, places = torch.zeros(cells).long(), torch.zeros(cells).long()
        for r, row in enumerate(rows):
            start = 0
            for slot, one in enumerate(row):
                own = slice(start, start + widths[one])
                slots[r, slot], parts[r, own], sequences[r, own] = one, slot, one
                places[r, own] = torch.arange(widths[one])
                start = own.stop
        return cls(slots, parts, sequences, places)

    def to(self, device: torch.device) -> Packing:
        """The same on a device."""
        moved = {one.name: getattr(self, one.name).to(device) for one in fields(self)}
        return replace(self, **moved)

    @property
    def beside(self) -> int:
        """S."""
        return self.slots.shape[1]

    @property
    def filled(self) -> Bool[Tensor, "R W"]:
        """Where there is a sequence."""
        return self.parts < self.beside


def _fewest(widths: Sequence[int]) -> int:
    """Fewer rows cannot be: by sequences, by cells, and by those that share a row with no like."""
    size = max(widths)
    halves = sum(2 * width > size for width in widths)
    return max(-(-len(widths) // BESIDE), -(-sum(widths) // size), halves)


def _spread(widths: Sequence[int], count: int, size: int) -> list[list[int]] | None:
    """So many rows with all sequences in them, or None if one finds no place."""
    rows: list[list[int]] = [[] for _ in range(count)]
    free = [(0, row) for row in range(count)]  # cells used; a heap, the emptiest first
    for one in sorted(range(len(widths)), key=lambda n: -widths[n]):
        if not free or free[0][0] + widths[one] > size:
            return None
        used, emptiest = heapq.heappop(free)
        rows[emptiest].append(one)
        if len(rows[emptiest]) < BESIDE:
            heapq.heappush(free, (used + widths[one], emptiest))
    return rows
