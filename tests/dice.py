"""Random choices for generated programs, all drawn from hypothesis as numbers of one range.

Hypothesis mutates an example by moving its draws about. A draw that lands where it does not fit
becomes the simplest one, which makes the late parts of a big example dull; draws that are all
alike always fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")

SIDES = 1 << 16


class Dice:
    """Chooses, given the `draw` of a composite strategy; earlier options are simpler."""

    def __init__(self, draw) -> None:
        self._draw = draw

    def pick(self, options: Sequence[T]) -> T:
        return options[self._draw(st.integers(0, SIDES - 1)) % len(options)]

    def number(self, low: int, high: int) -> int:
        return self.pick(range(low, high + 1))

    def chance(self, percent: int) -> bool:
        return self.number(0, 99) >= 100 - percent

    def some(self, options: Sequence[T], *, least: int = 0, most: int) -> list[T]:
        """Different options, at least `least` and at most `most` of them."""
        rest, chosen = list(dict.fromkeys(options)), []
        for _ in range(self.number(least, min(most, len(rest)))):
            chosen.append(self.pick(rest))
            rest.remove(chosen[-1])
        return chosen


class Chance(Dice):
    """The same by a seeded source: fuller programs than hypothesis, which likes simple ones."""

    def __init__(self, source: Random) -> None:
        self._source = source

    def pick(self, options: Sequence[T]) -> T:
        return options[self._source.randrange(len(options))]
