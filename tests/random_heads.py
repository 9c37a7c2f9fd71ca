"""Attention heads with random matrices, for tests of attention alone."""

from __future__ import annotations

import torch

from espalier.nets.compiled.weights import HeadWeights, RelativeBias, Sparse

WIDTH = 6


def heads(seed: int, offsets: list[int] | None, count: int) -> tuple[HeadWeights, ...]:
    """Heads with random dense matrices; the first two share their pattern."""
    source = torch.Generator().manual_seed(seed)

    def matrix(rows: int, columns: int) -> Sparse:
        values = torch.randn(rows, columns, generator=source, dtype=torch.float64)
        places = values.abs() > 0.4
        rows_, columns_ = places.nonzero(as_tuple=True)
        return Sparse((rows, columns), rows_, columns_, values[places])

    bias = None
    if offsets is not None:
        first = min(offsets)
        table = torch.full((max(offsets) - first + 1,), -torch.inf, dtype=torch.float64)
        for offset in offsets:
            table[offset - first] = torch.randn(1, generator=source).item()
        bias = RelativeBias(first, table)
    query, key = matrix(3, WIDTH), matrix(3, WIDTH)
    made = []
    for place in range(count):
        if place >= 2:
            query, key = matrix(3, WIDTH), matrix(3, WIDTH)
        made.append(HeadWeights(query, key, matrix(2, WIDTH), matrix(WIDTH, 2), 0.3, bias))
    return tuple(made)
