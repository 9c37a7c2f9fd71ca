"""Bit strings for the parity task: about as many examples for every number of ones (D.1).

The number of ones goes through 0 to `longest`; the length is drawn between that number and
`longest`, and the ones fall anywhere. A string has one bit at least, because the last bit's
position holds the answer.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from espalier.errors import DataError

START, PAD = 2, 0


@dataclass(frozen=True)
class ParityConfig:
    """How many strings for each number of ones, and how long they are at most."""

    longest: int = 20
    per_count: int = 1_000
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("longest", "per_count"):
            if getattr(self, name) < 1:
                raise DataError(f"{name} is {getattr(self, name)}; it must be at least 1")


@dataclass(frozen=True, eq=False)
class ParitySet:
    """Bit strings, shorter ones filled up with zeros."""

    bits: NDArray[np.int64]  # M x longest
    lengths: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def ones(self) -> NDArray[np.int64]:
        """The number of ones of every string."""
        return np.asarray(self.bits.sum(1))

    @property
    def parities(self) -> NDArray[np.int64]:
        """1 where the number of ones is odd."""
        return np.asarray(self.ones % 2)

    @property
    def digest(self) -> str:
        """SHA-256 over the strings."""
        return hashlib.sha256(self.bits.tobytes() + self.lengths.tobytes()).hexdigest()

    def strings(self) -> list[list[int]]:
        """Every string as a list of its bits."""
        rows = zip(self.bits.tolist(), self.lengths.tolist(), strict=True)
        return [bits[:length] for bits, length in rows]

    def tokens(self) -> NDArray[np.int64]:
        """START before every string."""
        return np.pad(self.bits, ((0, 0), (1, 0)), constant_values=START)


def parity_set(config: ParityConfig) -> ParitySet:
    """The strings of a config, always the same ones."""
    source = np.random.default_rng([config.longest, config.per_count, config.seed])
    ones = np.repeat(np.arange(config.longest + 1), config.per_count)
    lengths = source.integers(np.maximum(ones, 1), config.longest + 1)
    # The `ones` places with the smallest of random numbers, among the first `length`.
    marks = source.random((len(ones), config.longest))
    marks[np.arange(config.longest) >= lengths[:, None]] = 2.0
    ranks = marks.argsort(1).argsort(1)
    return ParitySet((ranks < ones[:, None]).astype(np.int64), lengths)
