"""Bit strings to learn parity from and to be judged by (the paper's D.1).

The paper has training strings of lengths 0 to 20 and test strings of lengths 0 to 40, with roughly
an equal number for each number of ones. Here that number is the same for every count of ones, but
where there are not so many different strings: no string is given twice. The two sets are drawn
apart from each other, so that short strings may be in both.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

from espalier.errors import DataError


@dataclass(frozen=True)
class BitString:
    """A string of 0 and 1."""

    bits: str

    @property
    def ones(self) -> int:
        """How many ones there are."""
        return self.bits.count("1")

    @property
    def parity(self) -> int:
        """1 if there is an odd number of ones."""
        return self.ones % 2

    @property
    def length(self) -> int:
        """How many bits there are."""
        return len(self.bits)


@dataclass(frozen=True)
class ParitySplit:
    """The strings to learn from and those to be judged by."""

    train: tuple[BitString, ...]
    test: tuple[BitString, ...]


def parity_split(
    *,
    each: int = 100,
    train_length: int = 20,
    test_length: int = 40,
    shortest: int = 0,
    seed: int = 0,
) -> ParitySplit:
    """Strings of up to `train_length` and `test_length` bits, `each` of them for a count of ones.

    The same seed gives the same strings. A program without a START token cannot read the empty
    string: ask for a `shortest` of 1.
    """
    if each < 1:
        raise DataError(f"at least one string for each count of ones is needed; found {each}")
    for name, length in (("train_length", train_length), ("test_length", test_length)):
        if not 0 <= shortest <= length:
            raise DataError(f"lengths run from shortest to {name}; found {shortest} to {length}")
    return ParitySplit(
        tuple(_draw(random.Random(f"train {seed}"), each, shortest, train_length)),
        tuple(_draw(random.Random(f"test {seed}"), each, shortest, test_length)),
    )


def _draw(source: random.Random, each: int, shortest: int, longest: int) -> Iterator[BitString]:
    """For every count of ones, different strings with lengths as even as there are strings."""
    for ones in range(longest + 1):
        lengths = range(max(ones, shortest), longest + 1)
        left = {length: math.comb(length, ones) for length in lengths}
        drawn: set[str] = set()
        for _ in range(min(each, sum(left.values()))):
            length = source.choice([length for length, strings in left.items() if strings])
            drawn.add(_new(source, length, ones, drawn))
            left[length] -= 1
        yield from map(BitString, sorted(drawn, key=lambda bits: (len(bits), bits)))


def _new(source: random.Random, length: int, ones: int, drawn: set[str]) -> str:
    """A string that was not drawn yet; there is one."""
    while True:
        places = set(source.sample(range(length), ones))
        bits = "".join("1" if place in places else "0" for place in range(length))
        if bits not in drawn:
            return bits
