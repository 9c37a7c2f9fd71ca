"""The fraction that a float stands for.

Floats have no tenths and no thirds; whoever writes 0.1 or 1/3 means them all the same. So a float
stands for the simplest fraction that rounds to it, if its denominator is at most a million; else
for the shortest decimal that rounds to it, if that has at most twelve digits; else for itself.
Every comparison of numbers is one of these fractions; see docs/concepts/numbers.md.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

LARGEST_DENOMINATOR = 10**6
MOST_DIGITS = 12


@lru_cache(maxsize=1 << 16)
def meant(number: float) -> Fraction:
    """The simplest fraction or short decimal that rounds to `number`, or `number` itself."""
    own = Fraction(number)
    if own.denominator <= LARGEST_DENOMINATOR:
        return own
    size = abs(number)
    # Half-way to the next floats on both sides.
    low, high = ((Fraction(math.nextafter(size, side)) + abs(own)) / 2 for side in (0.0, math.inf))
    found = _simplest(*low.as_integer_ratio(), *high.as_integer_ratio())
    if found.denominator > LARGEST_DENOMINATOR or float(found) != size:
        written = Decimal(repr(size))
        found = Fraction(written) if len(written.as_tuple().digits) <= MOST_DIGITS else abs(own)
    return found if number > 0 else -found


def _simplest(low: int, low_below: int, high: int, high_below: int) -> Fraction:
    """The fraction of the least denominator between two positive ones, by continued fractions."""
    above, below, above_before, below_before = 1, 0, 0, 1
    while True:
        whole = -(-low // low_below)
        if whole * high_below <= high:
            return Fraction(whole * above + above_before, whole * below + below_before)
        term = whole - 1
        above, above_before = term * above + above_before, above
        below, below_before = term * below + below_before, below
        low, low_below, high, high_below = (
            high_below,
            high - term * high_below,
            low_below,
            low - term * low_below,
        )
