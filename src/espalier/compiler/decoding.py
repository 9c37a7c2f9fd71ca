"""From the residual stream back to symbols, to compare a model with the interpreter.

Codes and nulls as the interpreter writes them: -1 (or NaN) is null. A block that encodes no value
at all is reported as such, -2 (or infinity), never rounded to the nearest.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from espalier.compiler.encoding import members
from espalier.compiler.expansion import AVERAGED
from espalier.compiler.layout import Layout, averages
from espalier.language import Categorical, Numerical, SetValued, place_means, within_bucket

NULL = -1
NOT_A_VALUE = -2
TOLERANCE = 1e-3

Column = NDArray[np.int64] | NDArray[np.float64]


def decode(
    layout: Layout, z: Tensor, names: Iterable[str] | None = None, *, changed: bool = False
) -> dict[str, Column]:
    """The variables `names`, by default all, at every row of `z` (positions by residual width).

    Of a stream with a basis, whose amounts are not exact, the nearest value within one half. In a
    run that was `changed` by interventions any variable may be null, also among what a head
    averages.
    """
    chosen = layout.program.specs if names is None else names
    block = layout.read(z)
    found = {name: _decode_variable(layout, name, block, z.dtype) for name in chosen}
    if changed:
        for name, column in found.items():
            unknown = (column == NOT_A_VALUE) & _may_be_null(layout, name, block)
            found[name] = np.where(unknown, NULL, column)
    return found


def _may_be_null(layout: Layout, name: str, z: Tensor) -> NDArray[np.bool_]:
    """Where a head's output is a mean with nulls in it, or a set variable holds nothing."""
    dimensions, limit = layout.dimensions(name), tolerance(layout)
    block = z[:, dimensions.start : dimensions.stop].double().cpu()
    if isinstance(layout.program.specs[name], SetValued):
        return (block.abs().amax(-1) < limit).numpy()
    if name not in layout.program.heads:
        return np.zeros(len(block), dtype=bool)
    return ((block > -limit).all(-1) & (block.sum(-1) < 1 + limit)).numpy()


def tolerance(layout: Layout) -> float:
    """How far an amount may be off what it is taken for; half of the way in a realistic stream."""
    return TOLERANCE if layout.basis is None else layout.basis.tolerance


def is_exact(layout: Layout, name: str) -> bool:
    """Whether a variable's dimensions hold the encoding of its value, not a mean or a number."""
    head = layout.program.heads.get(name)
    if isinstance(layout.program.specs[name], Numerical):
        return False
    return head is None or not averages(layout.program, head)


def _decode_variable(layout: Layout, name: str, z: Tensor, dtype: torch.dtype) -> Column:
    dimensions = layout.dimensions(name)
    block = z[:, dimensions.start : dimensions.stop].double().cpu()
    match layout.program.specs[name]:
        case Numerical():
            return _decode_number(layout, name, block, z)
        case SetValued() as spec:
            return _decode_set(spec, block, tolerance(layout))
        case Categorical():
            if is_exact(layout, name):
                return _decode_one_hot(block, tolerance(layout))
            # The parts of a mean are rounded one by one.
            rounding = max(tolerance(layout), block.shape[1] * torch.finfo(dtype).eps)
            most = layout.positions or AVERAGED[dtype]
            return _decode_average(block, most, rounding, tolerance(layout))


def _decode_one_hot(block: Tensor, limit: float) -> NDArray[np.int64]:
    top, code = block.max(-1)
    rest = block.abs().scatter(-1, code[:, None], 0.0)
    # Exact amounts may be off in all; others, each of which has an error, each by the limit.
    off, total = (rest.sum(-1), block.abs().sum(-1))
    if limit > TOLERANCE:
        off, total = (rest.amax(-1), block.abs().amax(-1))
    is_value = ((top - 1).abs() < limit) & (off < limit)
    is_null = total < limit
    found = torch.where(is_value, code, torch.where(is_null, NULL, NOT_A_VALUE))
    return found.numpy()


def _decode_average(
    block: Tensor, positions: int, rounding: float, limit: float
) -> NDArray[np.int64]:
    """A mean of one-hots is a value where it is unanimous and null where it is not."""
    top, code = block.max(-1)
    is_mean = (block.sum(-1) - 1).abs() < rounding
    is_null = block.abs().sum(-1) < limit
    agreed = torch.where(top > 1 - 1 / (2 * positions), code, NULL)
    return torch.where(is_mean | is_null, agreed, NOT_A_VALUE).numpy()


def _decode_number(layout: Layout, name: str, block: Tensor, z: Tensor) -> NDArray[np.float64]:
    spec, form = layout.program.specs[name], layout.formats[name]
    assert isinstance(spec, Numerical)
    if layout.basis is not None and form.size == 1:
        middles = np.asarray([float((low + high) / 2) for low, high in form.edges])
        found = block[:, 0].numpy()
        codes = np.searchsorted(middles, found)
        numbers = within_bucket(spec, found * float(form.parts.factor), codes)
    elif form.is_float:
        # The bucket that the network sees; rounding may have moved the number out of it.
        found, below = block[:, 0].numpy(), [float(low) for low, _ in form.edges]
        codes = np.searchsorted(np.asarray(below), found, side="left")
        numbers = within_bucket(spec, found * float(form.parts.factor), codes)
    else:
        columns = [column.numpy() for column in block.unbind(-1)]
        numbers = place_means(spec, columns, np.ones(len(block)), form.parts.factor)
    if name not in layout.flags:
        return numbers
    defined = z[:, layout.flags[name]].double().cpu().numpy()
    limit = tolerance(layout)
    clean = np.abs(defined - 1) < limit
    nothing = np.abs(defined) + block.abs().sum(-1).numpy() < limit
    if layout.basis is not None:
        nothing = np.abs(defined) < limit
    return np.where(clean, numbers, np.where(nothing, np.nan, np.inf))


def _decode_set(spec: SetValued, block: Tensor, limit: float) -> NDArray[np.int64]:
    off = (block[:, None, :] - members(spec)).abs().amax(-1)
    least, code = off.min(-1)
    return torch.where(least < limit, code, NOT_A_VALUE).numpy()
