"""Which positions a head may select: by its offsets, so that a few offsets cost a few columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from espalier.interpreter.batch import Ints, Mask
from espalier.language import Head

Masks = np.ndarray


@dataclass(frozen=True)
class Reach:
    """What is in reach of each query, by arrays over (query, place): a place for each offset.

    A head without offsets, or with as many as there are positions, has a place for each position.
    """

    keys: Ints  # which position is at each place
    allowed: Masks  # whether it is there, and in reach
    is_everywhere: bool

    def at_keys(self, column: np.ndarray) -> np.ndarray:
        """What a column over positions holds at the keys, as (query or 1, place)."""
        return np.asarray(column[None] if self.is_everywhere else column[self.keys])

    def chosen(self, places: Masks) -> Mask:
        """The positions that some query chose, who chose these (query, place)."""
        if self.is_everywhere:
            return np.asarray(places.any(0))
        found = np.zeros(len(self.keys), dtype=bool)
        found[self.keys[places]] = True
        return found


def reach_of(head: Head, length: int, *, causal: bool) -> Reach:
    """What a head's offsets and the causal mask let each position select."""
    here, offsets = np.arange(length), head.relative_positions
    near = [] if offsets is None else sorted(o for o in offsets if -length < o < length)
    is_everywhere = offsets is None or len(near) >= length
    if is_everywhere:
        keys = np.broadcast_to(here, (length, length))
        allowed = np.ones((length, length), dtype=bool)
        if offsets is not None:
            allowed = np.isin(here - here[:, None], near)
    else:
        keys = here[:, None] + np.asarray(near, dtype=np.int64)
        allowed = (keys >= 0) & (keys < length)
    if causal:
        allowed = allowed & (keys <= here[:, None])
    return Reach(keys.clip(0, length - 1) if not is_everywhere else keys, allowed, is_everywhere)
