"""How numbers lie in the residual stream, so that both machines put each into the same bucket.

A variable's numbers are sums of parts, which every type holds and adds exactly. A head's mean is
one float where floats separate every mean at or below a boundary from every mean above it; else it
has parts too, rounded up to a multiple of the last unit, which no boundary lies within. The two
numbers that a boundary must separate are its `edges`. The proof is in docs/concepts/numbers.md.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import torch

from espalier.errors import CompileError
from espalier.language import Head, Numerical, Parts, Program, lowest_bit, meant, parts_of, span

# Bits of a part. Twice as many, and sums of as many as are averaged, are exact in the type that
# adds them: the stream's for a rule that rewrites a number, float64 for a mean.
BITS = {torch.float32: 22, torch.bfloat16: 6, torch.float64: 32}
# How many positions a mean may run over; one that is a single float, at least FEWEST.
MOST, FEWEST = 1 << 18, 1 << 15
MOST_PARTS = 64
# How much finer than a gap between buckets a mean is stored.
VISIBLE = 2.0**-16

# The highest number at or below a boundary, and the lowest above it, divided by the factor.
Edge = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class Format:
    """How the numbers of one variable are held."""

    parts: Parts
    edges: tuple[Edge, ...]  # one for each boundary between buckets
    is_float: bool = False  # a mean as one float, not in parts
    reach: int | None = None  # over how many positions a mean is exact; None for a variable
    sums_wide: bool = True  # whether only float64 adds the parts up exactly

    @property
    def size(self) -> int:
        """How many residual dimensions it takes."""
        return 1 if self.is_float else len(self.parts.units)

    @property
    def bounds(self) -> list[float]:
        """For each dimension, a power of two that no number there exceeds."""
        bounds = [unit * 2.0 ** (self.parts.bits + 1) for unit in self.parts.units]
        return bounds[: self.size]

    def split_mean(
        self, scaled: Fraction, least: Fraction | None, most: Fraction | None
    ) -> list[float]:
        """A mean divided by the factor, in the stream, between these ends of its bucket."""
        if not self.is_float:
            unit = Fraction(self.parts.units[-1])
            scaled = math.ceil(scaled / unit) * unit
        scaled = scaled if least is None else max(scaled, least)
        scaled = scaled if most is None else min(scaled, most)
        if self.is_float:
            return [float(scaled)]
        digits = self.parts.digits(scaled)
        return [digit * unit for digit, unit in zip(digits, self.parts.units, strict=True)]


def number_formats(
    program: Program, dtype: torch.dtype, positions: int | None = None
) -> dict[str, Format]:
    """The format of every numerical variable, the outputs of heads included.

    `positions` is how many a mean runs over at most, where that is known.
    """
    formats: dict[str, Format] = {}
    for name in program.held:
        formats[name] = _variable(program, name, dtype)
    for name in program.heads:
        if isinstance(program.specs[name], Numerical):
            formats[name] = _mean(program, name, formats, dtype, positions)
    return formats


def most_selected(program: Program, head: Head, positions: int | None = None) -> int | None:
    """How many positions a head can select at most, if that is known."""
    known = [limit for limit in (program.position_range, positions) if limit is not None]
    if head.relative_positions is not None:
        known.append(len(head.relative_positions))
    return min(known, default=None)


def number_limit(program: Program, name: str, formats: dict[str, Format]) -> list[tuple[int, str]]:
    """How long a sequence a numerical head takes, and which means a longer one could confuse."""
    head, reach = program.heads[name], formats[name].reach
    limit = most_selected(program, head)
    if reach is None or (limit is not None and limit <= reach):
        return []
    means = _means(program, name, formats[head.value].parts.factor)
    low, high = (end * formats[head.value].parts.factor for end in means.closest(2 * reach))
    return [
        (reach, f"head {name!r} could then report {low} and {high}, and cannot distinguish them")
    ]


def mean_edges(program: Program, name: str, factor: Fraction, reach: int) -> tuple[Edge, ...]:
    """Around each boundary of a numerical head, its nearest means over up to `reach` positions."""
    return _means(program, name, factor).edges(reach)


def check_numbers(program: Program, dtype: torch.dtype) -> None:
    """Refuse numbers that `dtype` cannot hold."""
    if dtype == torch.bfloat16:
        for name, spec in program.specs.items():
            if isinstance(spec, Numerical) and (name in program.read or name in program.heads):
                raise CompileError(
                    f"variable {name!r} is numerical, and bfloat16 keeps 8 bits of a number, too "
                    "few for a mean; compile with torch.float32"
                )
    limits = torch.finfo(dtype)
    for name, held in program.held.items():
        largest, smallest = max(held, key=abs), min((v for v in held if v), key=abs, default=1.0)
        if abs(largest) > limits.max / 2**24:
            raise CompileError(
                f"variable {name!r} may hold {largest:g}, too large for {dtype}; rescale it"
            )
        units = parts_of(held, BITS[dtype]).units
        if units[-1] < limits.tiny * 2**24 or len(units) > MOST_PARTS:
            raise CompileError(
                f"variable {name!r} may hold {smallest!r} and {largest!r}: a sum of {dtype} parts "
                f"that holds {largest!r} and distinguishes {smallest!r} from 0 is too long; "
                "rescale or round one of them"
            )


def _variable(program: Program, name: str, dtype: torch.dtype) -> Format:
    spec, held = program.specs[name], program.held[name]
    assert isinstance(spec, Numerical)
    parts = parts_of(held, _bits(program, name, dtype))
    scaled = [meant(number) / parts.factor for number in held]
    edges = []
    for middle in spec.midpoints:
        place = bisect.bisect_right(scaled, middle / parts.factor)
        edges.append(_edge(scaled[:place][-1:], scaled[place:][:1], parts))
    return Format(parts, tuple(edges))


def _edge(below: Sequence[Fraction], above: Sequence[Fraction], parts: Parts) -> Edge:
    """Two numbers to separate; where nothing lies on one side, any number there will do."""
    unit = Fraction(parts.units[-1])
    low = below[0] if below else above[0] - unit
    return low, above[0] if above else low + unit


def _bits(program: Program, name: str, dtype: torch.dtype) -> int:
    """Fewer bits where rules rewrite numbers that are no bucket: see feedforward's remainder."""
    spec, bits = program.specs[name], BITS[dtype]
    if name not in program.written or set(program.held[name]) <= set(spec.values):
        return bits
    atoms = max(len(rule.antecedent) for rule in program.rules if rule.output == name)
    return min(bits, -math.ceil(math.log2(torch.finfo(dtype).eps)) - 3 - atoms.bit_length())


def _mean(
    program: Program,
    name: str,
    formats: dict[str, Format],
    dtype: torch.dtype,
    positions: int | None,
) -> Format:
    head, spec = program.heads[name], program.specs[name]
    assert isinstance(spec, Numerical)
    value = formats[head.value]
    means = _means(program, name, value.parts.factor)
    limit = most_selected(program, head, positions)
    if value.size == 1:
        reaches = [MOST, MOST // 2, MOST // 4, FEWEST]
        for reach in reaches if limit is None or limit > MOST else [limit]:
            edges = means.as_floats(reach, dtype)
            if edges is not None:
                sums_wide = means.count * reach > 1 << 24
                return Format(value.parts, edges, True, reach, sums_wide)
    gap = min(high - low for low, high in itertools.pairwise(spec.values))
    return means.in_parts(value.parts, min(limit or MOST, MOST), gap)


def _means(program: Program, name: str, factor: Fraction) -> _Means:
    spec = program.specs[name]
    assert isinstance(spec, Numerical)
    held = [meant(number) / factor for number in program.held[program.heads[name].value]]
    return _Means(held, [middle / factor for middle in spec.midpoints])


class _Means:
    """Means of the numbers `held` around the midpoints of other buckets, all scaled alike."""

    def __init__(self, held: list[Fraction], midpoints: list[Fraction]) -> None:
        self._least, self._most = min(held), max(held)
        self._midpoints = midpoints
        self._low, high = span(held)
        self._unit = Fraction(2) ** self._low
        self.count = 1 << max(0, high - self._low)  # no number is above as many units

    def as_floats(self, reach: int, dtype: torch.dtype) -> tuple[Edge, ...] | None:
        """Edges in the floats of a type, or None where it rounds two sides to one float."""
        found = []
        for middle in self._midpoints:
            below, above = self._neighbours(middle, reach)
            low, high = _rounded(below, dtype), _rounded(above, dtype)
            if not high - low >= torch.finfo(dtype).tiny * 2**24:
                return None
            found.append((Fraction(low), Fraction(high)))
        return tuple(found)

    def edges(self, reach: int) -> tuple[Edge, ...]:
        """For each boundary the highest mean at or below it and the lowest above."""
        return tuple(self._neighbours(middle, reach) for middle in self._midpoints)

    def closest(self, reach: int) -> Edge:
        """The two means on different sides of a boundary that are nearest to each other."""
        return min(self.edges(reach), key=lambda pair: pair[1] - pair[0])

    def in_parts(self, parts: Parts, reach: int, gap: float) -> Format:
        """Means rounded up to so fine a unit that a multiple of it lies on every boundary.

        It is much finer than a `gap` of buckets at any rate, so that a mean is seen as it is.
        """
        inside = [m for m in self._midpoints if self._least <= m < self._most]
        # Neighbouring means of up to `reach` numbers are at least unit / reach**2 apart.
        low = self._low - 2 * reach.bit_length() - 1
        if all(m.denominator & (m.denominator - 1) == 0 for m in inside):
            low = max(low, min([self._low, *(lowest_bit(m) for m in inside if m)]))
        units = list(parts.units)
        while units[-1] > min(2.0**low, gap * VISIBLE):
            units.append(units[-1] / 2**parts.bits)
        unit = Fraction(units[-1])
        edges = []
        for middle in self._midpoints:
            if (middle / unit).denominator != 1:
                middle = (math.ceil(self._neighbours(middle, reach)[1] / unit) - 1) * unit
            edges.append((middle, middle + unit))
        return Format(Parts(parts.factor, parts.bits, tuple(units)), tuple(edges), reach=reach)

    def _neighbours(self, middle: Fraction, reach: int) -> Edge:
        if middle >= self._most:
            return self._most, self._most + self._unit
        if middle < self._least:
            return self._least - self._unit, self._least
        below, above = neighbours(middle / self._unit, reach)
        return below * self._unit, above * self._unit


def neighbours(number: Fraction, most: int) -> Edge:
    """The highest fraction at or below `number`, and the lowest above it, of denominators <= most.

    By mediants (Stern and Brocot), as many steps at a time as go one way.
    """
    target, scale = number.as_integer_ratio()
    a, b = target // scale, 1
    c, d = a + 1, 1
    while b + d <= most:
        # a/b <= number < c/d; how often c/d can be added to a/b without passing the number.
        gap, room = c * scale - target * d, target * b - a * scale
        steps = min(room // gap, (most - b) // d)
        a, b = a + steps * c, b + steps * d
        if b + d > most:
            break
        # And how often a/b to c/d, which must stay above.
        gap, room = c * scale - target * d, target * b - a * scale
        steps = (most - d) // b if room == 0 else min((gap - 1) // room, (most - d) // b)
        c, d = c + steps * a, d + steps * b
    return Fraction(a, b), Fraction(c, d)


def _rounded(number: Fraction, dtype: torch.dtype) -> float:
    """What a quotient in float64 is in the stream."""
    exact = float(number)
    return float(np.float32(exact)) if dtype == torch.float32 else exact
