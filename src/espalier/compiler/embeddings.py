"""Initialisation as embedding tables: z0 = W_X[token] + W_I[position] (A.2)."""

from __future__ import annotations

import torch
from torch import Tensor

from espalier.compiler.layout import Layout
from espalier.language import ByInput, ByPosition, Constant, Numerical, SetValued, Value


def embed_tokens(layout: Layout, dtype: torch.dtype) -> Tensor:
    """One row per token: variables initialised from it, constants, and the dimension that is 1."""
    program = layout.program
    table = torch.zeros(program.input_range, layout.width, dtype=torch.float64)
    for name, initial in program.initial.items():
        match initial:
            case ByInput(values):
                for row, value in zip(table, values, strict=True):
                    _write(layout, row, name, value)
            case Constant(value):
                for row in table:
                    _write(layout, row, name, value)
            case ByPosition():
                pass
    if layout.one is not None:
        table[:, layout.one] = 1
    return table.to(dtype)


def embed_positions(layout: Layout, dtype: torch.dtype) -> Tensor | None:
    """One row per position, or None where no variable is initialised from it."""
    program = layout.program
    by_position = {
        name: initial.table
        for name, initial in program.initial.items()
        if isinstance(initial, ByPosition)
    }
    if not by_position:
        return None
    assert program.position_range is not None
    table = torch.zeros(program.position_range, layout.width, dtype=torch.float64)
    for name, values in by_position.items():
        for row, value in zip(table, values, strict=True):
            _write(layout, row, name, value)
    return table.to(dtype)


def _write(layout: Layout, row: Tensor, name: str, value: Value) -> None:
    """Encode one variable's value: one-hot, multi-hot, or the number itself."""
    match layout.program.specs[name], value:
        case Numerical(), float() | int():
            parts = layout.formats[name].parts.split(float(value))
            for dimension, part in zip(layout.dimensions(name), parts, strict=True):
                row[dimension] = part
        case SetValued(), frozenset():
            for element in value:
                row[layout.dimension(name, element)] = 1
        case _, int():
            row[layout.dimension(name, value)] = 1
