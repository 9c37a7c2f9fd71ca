"""Means in float64 that lie on the side of every boundary on which the exact mean lies."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from espalier.language.numbers import Parts, parts_of
from espalier.language.program import Program
from espalier.language.variables import Numerical

Floats = NDArray[np.float64]

# A sum in float64 is exact over 2**20 numbers of this many bits.
SUMMED_BITS = 32
# More than the rounding of a few sums, a product and a quotient, relative to what is added.
ROUNDING = 2.0**-48


class PartTable:
    """The parts of every number that a variable may hold."""

    def __init__(self, parts: Parts, held: Sequence[float]) -> None:
        self.parts, self._held = parts, np.asarray(held)
        self._table = np.asarray([parts.split(number) for number in held]).T

    def split(self, numbers: Floats) -> list[Floats]:
        """An array for each part; numbers that the variable cannot hold count as the next one."""
        if self.parts.is_plain:
            return [numbers]
        rows = np.minimum(np.searchsorted(self._held, numbers), len(self._held) - 1)
        return [part[rows] for part in self._table]


def part_tables(program: Program) -> dict[str, PartTable]:
    """The parts in which float64 adds up the numbers of each variable exactly."""
    return {
        name: PartTable(parts_of(held, SUMMED_BITS), held) for name, held in program.held.items()
    }


def place_means(
    spec: Numerical, totals: Sequence[Floats], counts: Floats, factor: Fraction
) -> Floats:
    """`factor` times the sum of `totals` over `counts`, NaN for a count of 0.

    Totals are exact. The result is rounded, but never over a boundary of `spec`: where it is
    nearer to one than rounding is, fractions decide.
    """
    divisor = np.maximum(counts, 1)
    means: Floats = sum(totals[1:], totals[0]) / divisor * float(factor)
    edges = np.asarray([-np.inf, *spec.boundaries, np.inf])
    codes = np.searchsorted(edges[1:-1], means, side="left")
    slack = 2 * ROUNDING * (sum(map(np.abs, totals[1:]), np.abs(totals[0])) / divisor)
    near = (means - edges[codes] <= slack) | (edges[codes + 1] - means <= slack)
    entries = np.flatnonzero(near & (counts > 0))
    if len(entries):
        rows, which = np.unique(
            np.stack([*totals, counts], axis=1)[entries], axis=0, return_inverse=True
        )
        exact = (factor * sum(map(Fraction, row[:-1])) / int(row[-1]) for row in rows.tolist())
        right = np.asarray([spec.bucket(mean) for mean in exact])[which.reshape(-1)]
        means[entries] = within_bucket(spec, means[entries], right)
    return np.where(counts > 0, means, np.nan)


def within_bucket(spec: Numerical, numbers: Floats, codes: NDArray[np.int64]) -> Floats:
    """The numbers, moved into the buckets that `codes` name where rounding had them leave it."""
    edges = np.asarray([-np.inf, *spec.boundaries, np.inf])
    return np.clip(numbers, np.nextafter(edges[codes], np.inf), edges[codes + 1])
