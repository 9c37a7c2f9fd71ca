"""Symbols to the residual stream: the vector that a compiled model should hold (A.2, eq. 1)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from espalier.compiler.layout import Layout
from espalier.language import Categorical, Numerical, SetValued


def encode(layout: Layout, columns: Mapping[str, NDArray[Any]]) -> Tensor:
    """One row for each entry of the columns, in float32; null (-1 or NaN) is the zero vector.

    Where the layout has a basis, variables lie in its directions, and distractors hold nothing.
    """
    found = encode_meanings(layout, columns)
    return found if layout.basis is None else layout.basis.write(found).float()


def overwrite(layout: Layout, z: Tensor, name: str, column: NDArray[Any]) -> Tensor:
    """The rows of `z` (positions by residual width) with these values of one variable in them."""
    wanted = encode_meanings(layout, {name: column}, torch.float64).to(z.device)
    dimensions = [*layout.dimensions(name), *([layout.flags[name]] if name in layout.flags else [])]
    if layout.basis is None:
        written = z.clone()
        written[:, dimensions] = wanted[:, dimensions].to(z.dtype)
        return written
    change = torch.zeros_like(wanted)
    change[:, dimensions] = wanted[:, dimensions] - layout.read(z)[:, dimensions]
    return (z.double() + layout.basis.write(change)).to(z.dtype)


def encode_meanings(
    layout: Layout, columns: Mapping[str, NDArray[Any]], dtype: torch.dtype = torch.float32
) -> Tensor:
    """The same before any basis: a column for each meaning."""
    rows = len(next(iter(columns.values())))
    z = torch.zeros(rows, layout.width, dtype=dtype)
    for name, column in columns.items():
        start = layout.starts[name]
        match layout.program.specs[name]:
            case Categorical():
                known = np.flatnonzero(column >= 0)
                z[known, start + torch.from_numpy(column[known].astype(np.int64))] = 1
            case SetValued() as spec:
                known = np.flatnonzero(column >= 0)
                sets = members(spec)[column[known].astype(np.int64)].to(dtype)
                z[known, start : start + spec.size] = sets
            case Numerical():
                dimensions = layout.dimensions(name)
                z[:, dimensions.start : dimensions.stop] = _numbers(layout, name, column).to(dtype)
                if name in layout.flags:
                    z[:, layout.flags[name]] = torch.from_numpy(~np.isnan(column)).to(dtype)
    if layout.one is not None:
        z[:, layout.one] = 1
    return z


def _numbers(layout: Layout, name: str, column: NDArray[np.float64]) -> Tensor:
    """One row per entry, one column per part; a mean is where the network would see its bucket."""
    spec, form = layout.program.specs[name], layout.formats[name]
    assert isinstance(spec, Numerical)
    distinct, which = np.unique(column, return_inverse=True)
    rows = np.zeros((len(distinct), form.size))
    for row, number in zip(rows, distinct.tolist(), strict=True):
        if math.isnan(number):
            continue
        if name not in layout.flags:
            row[:] = form.parts.split(number)
            continue
        code = spec.bucket(number)
        above = form.edges[code - 1][1] if code else None
        below = form.edges[code][0] if code < len(form.edges) else None
        row[:] = form.split_mean(Fraction(number) / form.parts.factor, above, below)
    return torch.from_numpy(rows[which.reshape(-1)])


def members(spec: SetValued) -> Tensor:
    """One row per declared set, with a 1 for each of its elements."""
    rows = torch.zeros(len(spec.values), spec.size, dtype=torch.float64)
    for row, value in zip(rows, spec.values, strict=True):
        row[sorted(value)] = 1
    return rows
