"""Numbers as sums of parts that are whole multiples of powers of two: what floats can add exactly.

A numerical variable that is no head's output holds one of finitely many numbers, its first values
and its buckets; what a head reports is a mean of such numbers. They are fractions (see `exact`);
divided by a common factor they have finitely many binary digits, which are cut into parts of so few
bits that sums of them are not rounded. See docs/concepts/numbers.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from espalier.language.exact import meant
from espalier.language.validation import ByInput, ByPosition, Constant
from espalier.language.variables import Numerical, Value

if TYPE_CHECKING:
    from espalier.language.program import Program


@dataclass(frozen=True)
class Parts:
    """Numbers as `factor` times a sum of parts, the k-th a whole multiple of `units[k]`.

    Units are powers of two, coarsest first, each `2**bits` of the next. All parts but the first
    lie between 0 and that many units.
    """

    factor: Fraction
    bits: int
    units: tuple[float, ...]

    def digits(self, scaled: Fraction) -> tuple[int, ...]:
        """How many of each unit a number divided by `factor` has, rounded down at the end."""
        found = []
        for unit in map(Fraction, self.units):
            found.append(math.floor(scaled / unit))
            scaled -= found[-1] * unit
        return tuple(found)

    def split(self, number: float) -> list[float]:
        """The parts of one of the numbers that these parts were made for."""
        digits = self.digits(meant(number) / self.factor)
        return [digit * unit for digit, unit in zip(digits, self.units, strict=True)]

    @cached_property
    def is_plain(self) -> bool:
        """Whether a number is its only part."""
        return self.factor == 1 and len(self.units) == 1


def parts_of(numbers: Iterable[float], bits: int) -> Parts:
    """Parts of at most `bits` bits that sum to any of `numbers`, exactly."""
    exact = [meant(number) for number in numbers]
    factor = common_factor(exact)
    return Parts(factor, bits, part_units([number / factor for number in exact], bits))


def common_factor(numbers: Iterable[Fraction]) -> Fraction:
    """The fraction from 1 to 2 that leaves only powers of two in all denominators."""
    common = math.lcm(*(number.denominator for number in numbers))
    odd = common // (common & -common)
    return Fraction(1 << (odd - 1).bit_length(), odd)


def part_units(numbers: Sequence[Fraction], bits: int) -> tuple[float, ...]:
    """Powers of two, 2**bits apart: no number is above the first part's 2**bits units in size."""
    low, high = span(numbers)
    count = max(1, math.ceil((high - low) / bits))
    return tuple(2.0 ** (high - bits * (place + 1)) for place in range(count))


def span(numbers: Iterable[Fraction]) -> tuple[int, int]:
    """(low, high): all are multiples of 2**low, and none is above 2**high in size."""
    found = [number for number in numbers if number]
    if not found:
        return 0, 0
    top = max(map(abs, found))
    high = top.numerator.bit_length() - top.denominator.bit_length()
    return min(map(lowest_bit, found)), high + (top > Fraction(2) ** high)


def lowest_bit(number: Fraction) -> int:
    """The exponent of the last binary digit of a number that is not 0 and has one."""
    above, below = number.as_integer_ratio()
    assert below & (below - 1) == 0, "a number of infinitely many binary digits has no last one"
    return (above & -above).bit_length() - below.bit_length()


def held_numbers(program: Program, name: str) -> tuple[float, ...]:
    """Every number that a variable may hold where it is no head's output, in order."""
    spec, initial = program.specs[name], program.initial.get(name)
    assert isinstance(spec, Numerical)
    match initial:
        case None:
            table: tuple[Value, ...] = ()
        case Constant(value):
            table = (value,)
        case ByInput(table) | ByPosition(table):
            pass
    first = {float(value) for value in table if not isinstance(value, frozenset)}
    return tuple(sorted(first | set(spec.values)))
