"""Attention heads as projections (A.2).

One-hot queries and keys meet in a dot product that is 1 on a match and 0 otherwise; `sharpness`
scales it. The sink's logit is half the sharpness: it loses to any match and wins over none at
all. Relative positions are a T5-style bias, 0 where allowed and -inf elsewhere.

The losers' weight is exp(-sharpness / 2). The default makes that underflow to exactly 0, so a
head that selects nothing writes exactly the zero vector.
"""

from __future__ import annotations

import torch

from espalier.compiler.layout import Layout
from espalier.language import Categorical, Head, Numerical
from espalier.nets.compiled import HeadWeights, RelativeBias, Sparse


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
    return HeadWeights(query, key, value, output, sharpness / 2, bias)


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
    """Value and output: copy the value's dimensions, and 1 into the flag of a number."""
    head, specs = layout.program.heads[name], layout.program.specs
    sources = list(layout.dimensions(head.value))
    targets = list(layout.dimensions(name))[: len(sources)]
    match specs[name]:
        case Numerical():
            # A head's output is null when a layer starts, and so is its flag.
            source = layout.flags.get(head.value, layout.one)
            assert source is not None
            sources.append(source)
            targets.append(layout.flags[name])
        case Categorical():
            pass
    ones = range(len(sources))
    return (
        Sparse.of((len(ones), layout.width), [(i, sources[i], 1.0) for i in ones], dtype),
        Sparse.of((layout.width, len(ones)), [(targets[i], i, 1.0) for i in ones], dtype),
    )


def _relative_bias(offsets: frozenset[int]) -> RelativeBias:
    first, last = min(offsets), max(offsets)
    table = [0.0 if offset in offsets else -torch.inf for offset in range(first, last + 1)]
    return RelativeBias(first, torch.tensor(table))
