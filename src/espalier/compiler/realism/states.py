"""What a program's variables can hold, and the range of a linear function over all of it."""

from __future__ import annotations

import torch
from torch import Tensor

from espalier.compiler.encoding import members
from espalier.compiler.layout import Layout
from espalier.language import Categorical, Numerical, SetValued

# The dimensions of one variable, and the amounts that they may hold together, a row each.
Block = tuple[list[int], Tensor]


def blocks(layout: Layout, *, heads: bool) -> list[Block]:
    """Every variable's amounts; where not `heads`, as when a layer begins, heads hold nothing."""
    found = [
        _amounts(layout, name)
        for name in layout.program.specs
        if heads or name not in layout.program.heads
    ]
    if heads:
        found += [([flag], torch.tensor([[0.0], [1.0]]).double()) for flag in layout.flags.values()]
    if layout.one is not None:
        found.append(([layout.one], torch.ones(1, 1).double()))
    # A distractor is given at most 1 by a head and 1 by a rule.
    found += [([dimension], torch.tensor([[0.0], [2.0]]).double()) for dimension in layout.own]
    return found


def _amounts(layout: Layout, name: str) -> Block:
    program, dimensions = layout.program, list(layout.dimensions(name))
    match program.specs[name]:
        case SetValued() as spec:
            return dimensions, members(spec)
        case Categorical(size=size):
            values = torch.eye(size, dtype=torch.float64)
            null = torch.zeros(int(name in program.heads), size, dtype=torch.float64)
            return dimensions, torch.cat([values, null])
        case Numerical():
            # A mean of zeros and ones, in parts or not, is between the ends of what it is of.
            source = program.heads[name].value if name in program.heads else name
            parts = layout.formats[source].parts
            ends = [min(program.held[source]), max(program.held[source])]
            rows = [parts.split(float(end))[:1] for end in ends]
            rows += [[0.0]] if name in program.heads else []
            return dimensions[:1], torch.tensor(rows, dtype=torch.float64)


def spread(matrix: Tensor, states: list[Block]) -> tuple[Tensor, Tensor]:
    """For each row, a linear function of the meanings, its least and its greatest value."""
    low = torch.zeros(len(matrix), dtype=torch.float64)
    high = low.clone()
    for dimensions, options in states:
        values = matrix[:, dimensions] @ options.t()
        low += values.amin(1)
        high += values.amax(1)
    return low, high


def largest(bounds: tuple[Tensor, Tensor]) -> Tensor:
    """How far from 0 a number between these bounds may be."""
    return torch.maximum(bounds[1], -bounds[0])
