"""Bit strings for the parity task: as many for every number of ones (the paper's D.1).

The number of ones goes through 0 to `longest`; the length is drawn between that number and
`longest`, and the ones fall anywhere. Where there are few different strings, as of 20 ones in 20
bits, some come more than once. Sets of different seeds are drawn independently, so that short
strings may be in both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from espalier.errors import LARGEST_COUNT, LARGEST_SEED, DataError, check_whole
from espalier.results import Described

START, PAD = 2, 0


@dataclass(frozen=True)
class ParityConfig:
    """How many strings for each number of ones, and how long they are.

    A program without a START token cannot read the empty string: ask for a `shortest` of 1.
    """

    longest: int = 20
    per_count: int = 1_000
    seed: int = 0
    shortest: int = 0

    def __post_init__(self) -> None:
        check_whole(self, ("longest", "per_count"), error=DataError)
        check_whole(self, ("shortest",), least=0, error=DataError)
        check_whole(self, ("seed",), least=0, most=2 * LARGEST_SEED + 1, error=DataError)
        if self.shortest > self.longest:
            raise DataError(
                f"lengths run from shortest to longest; found {self.shortest} to {self.longest}"
            )
        if (bits := self.longest * (self.longest + 1) * self.per_count) > LARGEST_COUNT:
            raise DataError(
                f"{self.per_count:,} strings for every number of ones up to {self.longest:,} hold "
                f"{bits:,} bits; ask for fewer or shorter ones"
            )


@dataclass(frozen=True, eq=False, repr=False)
class ParitySet(Described):
    """Bit strings, shorter ones filled up with zeros."""

    bits: NDArray[np.int64]  # M x longest
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, strings: Sequence[str]) -> ParitySet:
        """Strings written with 0 and 1, in their order."""
        for string in strings:
            if not isinstance(string, str) or set(string) - {"0", "1"}:
                raise DataError(
                    f"a bit string is written with 0 and 1, as '0110'; found {string!r}"
                )
        lengths = np.array([len(string) for string in strings], dtype=np.int64)
        bits = np.zeros((len(strings), max(lengths, default=0)), dtype=np.int64)
        for row, string in zip(bits, strings, strict=True):
            row[: len(string)] = [int(bit) for bit in string]
        return cls(bits, lengths)

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

    def strings(self) -> list[str]:
        """Every string, written with 0 and 1."""
        rows = zip(self.bits.tolist(), self.lengths.tolist(), strict=True)
        return ["".join(map(str, bits[:length])) for bits, length in rows]

    def tokens(self) -> NDArray[np.int64]:
        """START before every string."""
        return np.pad(self.bits, ((0, 0), (1, 0)), constant_values=START)


@dataclass(frozen=True, eq=False, repr=False)
class ParitySplit(Described):
    """The strings to learn from and those to be tested on."""

    train: ParitySet
    test: ParitySet


def parity_set(config: ParityConfig) -> ParitySet:
    """The strings of a config, always the same ones.

    >>> len(parity_set(ParityConfig(3, 2)))
    8
    """
    source = np.random.default_rng([config.longest, config.per_count, config.seed])
    ones = np.repeat(np.arange(config.longest + 1), config.per_count)
    lengths = source.integers(np.maximum(ones, config.shortest), config.longest + 1)
    # The `ones` places with the smallest of random numbers, among the first `length`.
    marks = source.random((len(ones), config.longest))
    marks[np.arange(config.longest) >= lengths[:, None]] = 2.0
    ranks = marks.argsort(1).argsort(1)
    return ParitySet((ranks < ones[:, None]).astype(np.int64), lengths)


def parity_split(
    *,
    each: int = 100,
    train_length: int = 20,
    test_length: int = 40,
    shortest: int = 0,
    seed: int = 0,
) -> ParitySplit:
    """The paper's two sets: strings of up to 20 and up to 40 bits, `each` for a count of ones.

    >>> split = parity_split(each=2)
    >>> split.train.strings()[:3]
    ['0000000000000000000', '00000000000000000', '000001000000000000']
    """
    asked = ParityConfig(train_length, each, seed, shortest)
    return ParitySplit(
        parity_set(replace(asked, seed=2 * seed)),
        parity_set(replace(asked, seed=2 * seed + 1, longest=test_length)),
    )
