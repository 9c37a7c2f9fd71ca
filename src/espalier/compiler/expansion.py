"""Numbers, sets and averages as one-hot features: the first layers of the MLP (section 2.3).

Every unit is flat around its possible inputs, so what rules see is exactly 0 or 1:

number      A unit for each boundary between buckets rises from 0 at the highest number that can
            occur at or below it to 1 at the lowest above it. It reads one dimension with a power
            of two as its weight, so that only one sum is rounded, and rounding keeps an order:
            what lies below 0 or above 1 stays there. Where one part of a number does not decide,
            two units compare it, a layer in the middle adds up the comparisons of all parts, the
            first counting most. Bucket i is: defined, above boundary i - 1, and not above
            boundary i; that is a sum of 3, and 4 * sum - 10.5 is above 1 only there.
set         sum of its elements' dimensions - sum of the others' - size + 1 is 1 for the declared
            set itself and at most 0 for any other.
average     The mean of one-hots over n positions is 1 for a value that all share and at most
            1 - 1/n otherwise. 2 K z - (2 K - 1.5) is above 1 from 1 - 1/(4K) on and below 0 up to
            1 - 3/(4K), which separates the two for every n up to K/2, rounding included.

With `Realism` the slope of each unit takes a share of its gap, `ramp`, around the middle: numbers
between the ends of an edge, sums between 2 and 3, averages over N positions between 1 - 1/N and 1.
"""

from __future__ import annotations

import math

import torch

from espalier.compiler.layout import Layout
from espalier.compiler.numbers import Edge, Format
from espalier.language import Categorical, Numerical, SetValued
from espalier.nets.compiled import ExpansionWeights, Sparse

# K above: how many positions an average may run over, for each type of the stream.
AVERAGED = {torch.float64: 1 << 30, torch.float32: 1 << 15, torch.bfloat16: 1 << 8}
# Parts are compared together where float64 holds their sum: as many bits as this.
COMPARED_BITS = 48


class _Layers:
    """Entries of the matrices, one unit at a time.

    A unit of the second layer is mostly a copy of one of the first; if all are, it is left out.
    """

    def __init__(self) -> None:
        self.inner: list[tuple[int, int, float]] = []
        self.inner_bias: list[float] = []
        self.middle: list[tuple[int, int, float]] = []
        self.middle_bias: list[float] = []
        self.outer: list[tuple[int, int, float]] = []
        self.outer_bias: list[float] = []
        self.needs_middle = self.is_wide = False

    def hidden(self, dimension: int, scale: float = 1.0, bias: float = 0.0) -> int:
        """A unit that reads one residual dimension."""
        return self.joined({self._unit({dimension: scale}, bias): 1.0}, 0.0)

    def joined(self, units: dict[int, float], bias: float) -> int:
        """A unit of the second layer."""
        place = len(self.middle_bias)
        self.middle.extend((place, unit, weight) for unit, weight in units.items())
        self.middle_bias.append(bias)
        return place

    def compared(self, reads: dict[int, float], bias: float) -> int:
        """A unit of the first layer alone."""
        self.is_wide |= len(reads) > 1
        return self._unit(reads, bias)

    def feature(self, inputs: dict[int, float], bias: float) -> None:
        """The next feature, from units of the layers before."""
        unit = len(self.outer_bias)
        self.outer.extend((unit, place, weight) for place, weight in inputs.items())
        self.outer_bias.append(bias)

    def _unit(self, reads: dict[int, float], bias: float) -> int:
        unit = len(self.inner_bias)
        self.inner.extend((unit, dimension, scale) for dimension, scale in reads.items())
        self.inner_bias.append(bias)
        return unit

    def weights(self, width: int, dtype: torch.dtype) -> ExpansionWeights:
        inner, middle, outer = map(len, (self.inner_bias, self.middle_bias, self.outer_bias))
        is_there = self.needs_middle
        return ExpansionWeights(
            Sparse.of((inner, width), self.inner, dtype),
            torch.tensor(self.inner_bias, dtype=dtype),
            Sparse.of((outer, middle), self.outer, dtype),
            torch.tensor(self.outer_bias, dtype=dtype),
            Sparse.of((middle, inner), self.middle, dtype) if is_there else None,
            torch.tensor(self.middle_bias, dtype=dtype) if is_there else None,
        )


def expand(layout: Layout, dtype: torch.dtype) -> ExpansionWeights | None:
    """The layers, or None where every variable that rules read is one-hot already."""
    if not layout.expanded:
        return None
    layers = _Layers()
    for name in layout.expanded:
        match layout.program.specs[name]:
            case Numerical() as spec:
                _expand_number(layers, layout, name, spec)
            case SetValued() as spec:
                _expand_set(layers, layout, name, spec)
            case Categorical():
                _expand_average(layers, layout, name, AVERAGED[dtype])
    # Thresholds need more digits than a narrow stream has.
    wide = torch.float64 if dtype == torch.float64 or layers.is_wide else torch.float32
    return layers.weights(layout.width, wide)


def _expand_number(layers: _Layers, layout: Layout, name: str, spec: Numerical) -> None:
    form, dimensions = layout.formats[name], layout.dimensions(name)
    ramp = None if layout.realism is None else layout.realism.ramp
    above = [_above(layers, dimensions, form, edge, ramp) for edge in form.edges]
    defined = layers.hidden(layout.flags[name]) if name in layout.flags else None
    for bucket in range(len(spec.values)):
        inputs, known = {}, 0.0
        if defined is not None:
            inputs[defined] = 4.0
        else:
            known += 1
        if bucket > 0:
            inputs[above[bucket - 1]] = 4.0
        else:
            known += 1
        if bucket < len(above):
            inputs[above[bucket]] = -4.0
        known += 1
        if layout.realism is None:
            layers.feature(inputs, 4 * known - 10.5)
        else:
            signs = {unit: weight / 4 for unit, weight in inputs.items()}
            layers.feature(*widened(signs, known - 2.0, layout.realism.ramp))


def _above(layers: _Layers, dimensions: range, form: Format, edge: Edge, ramp: float | None) -> int:
    """A unit that is 0 up to one end of an edge and 1 from the other on."""
    if form.size == 1:
        low, high = float(edge[0]), float(edge[1])
        if ramp is None:
            return layers.hidden(dimensions[0], *_ramp(low, high))
        scale = 1 / (ramp * (high - low))
        return layers.hidden(dimensions[0], scale, 0.5 - scale * (low + high) / 2)
    below, above = (form.parts.digits(end) for end in edge)
    depth = next(i for i, pair in enumerate(zip(below, above, strict=True)) if len({*pair}) > 1) + 1
    units = form.parts.units
    together = max(1, COMPARED_BITS // form.parts.bits)
    groups = [range(first, min(first + together, depth)) for first in range(0, depth, together)]
    sums: dict[int, float] = {}
    for place, group in enumerate(groups):
        least = units[group[-1]]
        reads = {dimensions[k]: 1 / least for k in group}
        bound = sum(below[k] * int(units[k] / least) for k in group)
        weight = 2.0 ** (len(groups) - 1 - place)
        sums[layers.compared(reads, -float(bound))] = weight
        if place < len(groups) - 1:
            sums[layers.compared(reads, 1.0 - bound)] = weight
    if len(groups) == 1:
        return layers.joined(sums, 0.0)
    # Above, level or below in each group is 2, 1 or 0 times its weight; the last one is above.
    layers.needs_middle = True
    return layers.joined(sums, 2.0 - 2.0 ** len(groups))


def _ramp(low: float, high: float) -> tuple[float, float]:
    """Scale and bias of a unit that is 0 up to `low` and 1 from `high` on, exactly."""
    gap = high - low
    # Away from both ends, for networks that round more; not where floats are too few for that.
    is_wide = gap > 2.0**-16 * max(abs(low), abs(high))
    start = _short(low + gap / 4) if is_wide else low
    _, exponent = math.frexp(gap / 2 if is_wide else gap)
    scale = 2.0 ** (1 - exponent)
    return scale, -scale * start


def _short(number: float) -> float:
    """The number rounded to 20 bits, which any product with a power of two leaves exact."""
    fraction, exponent = math.frexp(number)
    return math.ldexp(round(fraction * 2**20), exponent - 20)


def _expand_set(layers: _Layers, layout: Layout, name: str, spec: SetValued) -> None:
    elements = [layers.hidden(dimension) for dimension in layout.dimensions(name)]
    for value in spec.values:
        signs = {unit: 1.0 if place in value else -1.0 for place, unit in enumerate(elements)}
        ramp = None if layout.realism is None else layout.realism.ramp
        layers.feature(*widened(signs, 1.0 - len(value), ramp))


def _expand_average(layers: _Layers, layout: Layout, name: str, positions: int) -> None:
    for dimension in layout.dimensions(name):
        unit = layers.hidden(dimension)
        if layout.realism is None or layout.positions is None:
            layers.feature({unit: 2.0 * positions}, 1.5 - 2.0 * positions)
        else:
            few = float(layout.positions)
            layers.feature(*widened({unit: few}, 1 - few, layout.realism.ramp))


def widened(
    reads: dict[int, float], bias: float, ramp: float | None
) -> tuple[dict[int, float], float]:
    """Weights and bias of a unit that rises from 0 to 1 over `ramp` times as much of its input.

    The middle of the slope stays where it is; None leaves everything as it is.
    """
    if ramp is None:
        return reads, bias
    return {place: weight / ramp for place, weight in reads.items()}, (bias - 0.5) / ramp + 0.5
