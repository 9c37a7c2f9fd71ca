"""Numbers, sets and averages as one-hot features: the first two layers of the MLP (section 2.3).

Every unit is flat around the points it can meet, so what rules see is exactly 0 or 1:

number      A unit for each boundary b between buckets rises from 0 to 1 within a quarter of a tie
            (see `Numerical.ties`) around b. Bucket i is: defined, above boundary i - 1, and not
            above boundary i; that is a sum of 3, and 4 * sum - 10.5 is above 1 only there.
set         sum of its elements' dimensions - sum of the others' - size + 1 is 1 for the declared
            set itself and at most 0 for any other.
average     The mean of one-hots over n positions is 1 for a value that all share and at most
            1 - 1/n otherwise. 2 K z - (2 K - 1.5) is above 1 from 1 - 1/(4K) on and below 0 up to
            1 - 3/(4K), which tells the two apart for every n up to K/2, rounding included.
"""

from __future__ import annotations

import itertools

import torch

from espalier.compiler.layout import Layout
from espalier.errors import CompileError
from espalier.language import (
    ByInput,
    ByPosition,
    Categorical,
    Constant,
    Numerical,
    Program,
    SetValued,
    Value,
)
from espalier.nets.compiled import ExpansionWeights, Sparse

# K above: how many positions an average may run over, for each type of the stream.
AVERAGED = {torch.float64: 1 << 30, torch.float32: 1 << 15, torch.bfloat16: 1 << 8}
# Neighbouring buckets must differ by this many roundings of the numbers they are computed from.
RESOLUTION = 256


class _Layers:
    """Entries of the two matrices, a unit at a time."""

    def __init__(self) -> None:
        self.inner: list[tuple[int, int, float]] = []
        self.inner_bias: list[float] = []
        self.outer: list[tuple[int, int, float]] = []
        self.outer_bias: list[float] = []

    def hidden(self, dimension: int, scale: float = 1.0, bias: float = 0.0) -> int:
        """A unit of the first layer that reads one residual dimension."""
        unit = len(self.inner_bias)
        self.inner.append((unit, dimension, scale))
        self.inner_bias.append(bias)
        return unit

    def feature(self, inputs: dict[int, float], bias: float) -> None:
        """The next feature, from units of the first layer."""
        unit = len(self.outer_bias)
        self.outer.extend((unit, place, weight) for place, weight in inputs.items())
        self.outer_bias.append(bias)


def expand(layout: Layout, dtype: torch.dtype) -> ExpansionWeights | None:
    """The two layers, or None where every variable that rules read is one-hot already."""
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
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    hidden, features = len(layers.inner_bias), len(layers.outer_bias)
    return ExpansionWeights(
        Sparse.of((hidden, layout.width), layers.inner, wide),
        torch.tensor(layers.inner_bias, dtype=wide),
        Sparse.of((features, hidden), layers.outer, wide),
        torch.tensor(layers.outer_bias, dtype=wide),
    )


def check_numbers(program: Program, dtype: torch.dtype) -> None:
    """Refuse numbers that `dtype` cannot hold, and buckets that it cannot tell apart."""
    largest = torch.finfo(dtype).max / 2**24
    for name, spec in program.specs.items():
        if not isinstance(spec, Numerical):
            continue
        held = held_numbers(program, name)
        if name in program.heads:
            held += held_numbers(program, program.heads[name].value)
        for value in held:
            if abs(value) > largest:
                raise CompileError(
                    f"variable {name!r} may hold {value:g}, too large for {dtype}; rescale it"
                )
        if name in program.read or name in program.heads:
            # Rewriting and sums of both signs round as the largest number does; a mean of numbers
            # of one sign rounds as it does itself.
            cancels = name in program.written or min(held) < 0 < max(held)
            scale = max(map(abs, held)) if cancels else 0.0
            _check_resolution(name, spec, scale, dtype)


def held_numbers(program: Program, name: str) -> list[float]:
    """Every number that a variable may hold: its first values and its buckets."""
    spec, initial = program.specs[name], program.initial.get(name)
    assert isinstance(spec, Numerical)
    match initial:
        case None:
            table: tuple[Value, ...] = ()
        case Constant(value):
            table = (value,)
        case ByInput(table) | ByPosition(table):
            pass
    return [float(value) for value in table if not isinstance(value, frozenset)] + [*spec.values]


def _check_resolution(name: str, spec: Numerical, scale: float, dtype: torch.dtype) -> None:
    if dtype == torch.bfloat16:
        raise CompileError(
            f"variable {name!r} is numerical, and bfloat16 keeps 8 bits of a number, too few for "
            "a mean; compile with torch.float32"
        )
    for low, high in itertools.pairwise(spec.values):
        size = max(abs(low), abs(high), scale)
        least = max(RESOLUTION * torch.finfo(dtype).eps * size, torch.finfo(dtype).tiny * 2**40)
        if high - low < least:
            raise CompileError(
                f"variable {name!r} has buckets {low:.9g} and {high:.9g}, closer than {dtype} can "
                "tell apart; compile with torch.float64 or space them out"
            )


def _expand_number(layers: _Layers, layout: Layout, name: str, spec: Numerical) -> None:
    value = layout.dimension(name)
    above = []
    for boundary, tie in zip(spec.boundaries, spec.ties, strict=True):
        scale = 2 / tie
        above.append(layers.hidden(value, scale, 0.5 - scale * boundary))
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
        layers.feature(inputs, 4 * known - 10.5)


def _expand_set(layers: _Layers, layout: Layout, name: str, spec: SetValued) -> None:
    elements = [layers.hidden(dimension) for dimension in layout.dimensions(name)]
    for value in spec.values:
        signs = {unit: 1.0 if place in value else -1.0 for place, unit in enumerate(elements)}
        layers.feature(signs, 1.0 - len(value))


def _expand_average(layers: _Layers, layout: Layout, name: str, positions: int) -> None:
    for dimension in layout.dimensions(name):
        unit = layers.hidden(dimension)
        layers.feature({unit: 2.0 * positions}, 1.5 - 2.0 * positions)
