"""Attention heads as projections (A.2).

The dot product of a one-hot query and key is 1 on a match and 0 otherwise; `sharpness`
scales it. The sink's logit is half the sharpness: it loses to any match and wins over none at
all. Relative positions are a T5-style bias, 0 where allowed and -inf elsewhere.

The losers' weight is exp(-sharpness / 2). The default makes that underflow to exactly 0, so a
head that selects nothing writes exactly the zero vector. What a numerical head selects is summed
first and divided by its number then, because such sums are exact.
"""

from __future__ import annotations

import torch

from espalier.compiler.layout import Layout
from espalier.language import Head
from espalier.nets.compiled import HeadWeights, MeanWeights, RelativeBias, Sparse


def default_sharpness(dtype: torch.dtype) -> float:
    """The least power of two whose half, as a negative exponent, underflows in `dtype`.

    float32 rounds exp(-x) to 0 from x = 104 on, float64 from x = 746 on; narrower types do their
    softmax in float32.
    """
    return 2048.0 if dtype == torch.float64 else 256.0


def project(layout: Layout, name: str, sharpness: float, dtype: torch.dtype) -> HeadWeights:
    """The matrices of one head."""
    head = layout.program.heads[name]
    query, key = _match(layout, head, sharpness, dtype)
    value, output = _carry(layout, name, dtype)
    bias = None
    if head.relative_positions is not None:
        bias = _relative_bias(head.relative_positions)
    return HeadWeights(query, key, value, output, sharpness / 2, bias, mean_of(layout, name))


def _match(
    layout: Layout, head: Head, sharpness: float, dtype: torch.dtype
) -> tuple[Sparse, Sparse]:
    """Query and key: a row for each value they may share (or for the constant dimension)."""
    if head.query is None or head.key is None:
        assert layout.one is not None
        asked, answered = [layout.one], [layout.one]
    else:
        asked = list(layout.dimensions(head.query))
        answered = list(layout.dimensions(head.key))
    shape = (len(asked), layout.width)
    return (
        Sparse.of(shape, [(row, d, sharpness) for row, d in enumerate(asked)], dtype),
        Sparse.of(shape, [(row, d, 1.0) for row, d in enumerate(answered)], dtype),
    )


def _carry(layout: Layout, name: str, dtype: torch.dtype) -> tuple[Sparse, Sparse]:
    """Value and output: copy the value's dimensions."""
    if name in layout.flags:
        return _carry_number(layout, name, dtype)
    sources = layout.dimensions(layout.program.heads[name].value)
    pairs = enumerate(zip(sources, layout.dimensions(name), strict=False))
    read, write = zip(*(((i, s, 1.0), (t, i, 1.0)) for i, (s, t) in pairs), strict=True)
    size = len(sources)
    return (
        Sparse.of((size, layout.width), read, dtype),
        Sparse.of((layout.width, size), write, dtype),
    )


def _carry_number(layout: Layout, name: str, dtype: torch.dtype) -> tuple[Sparse, Sparse]:
    """Count the units of each part of a number, or carry a float; and 1 into the flag."""
    source, target = layout.program.heads[name].value, layout.formats[name]
    units = [1.0] if target.is_float else target.parts.units
    assert layout.one is not None
    sources, size = layout.dimensions(source), len(units) + 1
    read = [(i, d, 1 / u) for i, (d, u) in enumerate(zip(sources, units, strict=False))]
    write = [(d, i, u) for i, (d, u) in enumerate(zip(layout.dimensions(name), units, strict=True))]
    return (
        Sparse.of((size, layout.width), [*read, (size - 1, layout.one, 1.0)], dtype),
        Sparse.of((layout.width, size), [*write, (layout.flags[name], size - 1, 1.0)], dtype),
    )


def mean_of(layout: Layout, name: str) -> MeanWeights | None:
    """How a numerical head divides; None for others."""
    if name not in layout.flags:
        return None
    form = layout.formats[name]
    return MeanWeights(None if form.is_float else 2.0**form.parts.bits, form.sums_wide)


def _relative_bias(offsets: frozenset[int]) -> RelativeBias:
    first, last = min(offsets), max(offsets)
    table = [0.0 if offset in offsets else -torch.inf for offset in range(first, last + 1)]
    return RelativeBias(first, torch.tensor(table))
