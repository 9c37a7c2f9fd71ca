"""The directions of a stream: rotated, wider than its meanings, or narrower and superposed.

Narrower: the stream is the meanings' space without some directions. The first ones to go cost
nothing, because no state of the program has any part in them: each variable that is always defined
has amounts that add up to 1, so the difference of two such sums is always 0. The others are random
directions among one-hots and sets, spread over all of them, so that what each meaning loses is
small. What heads write, numbers, flags and the constant are never superposed: whatever a head has
written is taken out again in each layer, and nothing else must go with it. The read-out is the
linear one of the least mean square error over states whose variables are uniform and independent.
It is exact as long as only directions of the first kind are gone; a read-out by the transposed
directions is not, and errs more where others are.
"""

from __future__ import annotations

import torch
from torch import Tensor

from espalier.compiler.basis import Basis, Realism
from espalier.compiler.encoding import members
from espalier.compiler.layout import Layout
from espalier.errors import CompileError
from espalier.language import Categorical, Numerical, SetValued, Variable
from espalier.nets import refuse_beyond_memory


def choose_basis(layout: Layout, realism: Realism) -> Basis:
    """The directions that `realism` asks for, and their read-out."""
    meanings, width = layout.width, realism.width or layout.width
    source = torch.Generator().manual_seed(realism.seed)
    numbers = 4 * width * (meanings if realism.rotation is None else max(width, meanings))
    what = f"a network of width {width:,}, and {meanings:,} meanings,"
    refuse_beyond_memory(what, numbers, error=CompileError)
    if width < meanings:
        directions, readout = _superpose(layout, width, source)
    else:
        directions = torch.eye(meanings, width, dtype=torch.float64)
        readout = directions.t().clone()
    if realism.rotation is not None:
        turned = random_rotation(width, realism.rotation)
        directions, readout = directions @ turned, turned.t() @ readout
    return Basis(directions.contiguous(), readout.contiguous())


def random_rotation(size: int, seed: int) -> Tensor:
    """An orthogonal matrix, uniform over all of them, the same for the same seed."""
    source = torch.Generator().manual_seed(seed)
    drawn = torch.randn(size, size, generator=source, dtype=torch.float64)
    turned, upper = torch.linalg.qr(drawn)
    signed: Tensor = turned * upper.diagonal().sign()
    return signed


def _superpose(layout: Layout, width: int, source: torch.Generator) -> tuple[Tensor, Tensor]:
    """Directions (M x width) and read-out (width x M), the superposed meanings' first."""
    shared = _shared(layout)
    rest = [place for place in range(layout.width) if place not in set(shared)]
    free, lost = _free(layout, shared), layout.width - width
    if lost >= len(shared):
        raise CompileError(
            f"width={width} is too small: {len(rest)} of {layout.width} meanings (of heads, "
            f"numbers, constants and distractors) need a dimension each, and the other "
            f"{len(shared)} at least one in all; give width={len(rest) + 1} or more"
        )
    gone = free[:, :lost]
    if lost > free.shape[1]:
        drawn = torch.randn(len(shared), lost - free.shape[1], generator=source).double()
        gone = torch.linalg.qr(torch.cat([free, drawn], 1))[0]
    # What is orthogonal to all that is gone.
    kept = torch.linalg.qr(gone, mode="complete")[0][:, lost:]
    moments = _moments(layout, shared)
    read = torch.linalg.solve(kept.t() @ moments @ kept, kept.t() @ moments)
    directions = torch.zeros(layout.width, width, dtype=torch.float64)
    readout = torch.zeros(width, layout.width, dtype=torch.float64)
    directions[shared, : kept.shape[1]] = kept
    readout[: kept.shape[1], shared] = read
    for place, meaning in enumerate(rest, kept.shape[1]):
        directions[meaning, place] = readout[place, meaning] = 1
    return directions, readout


def _shared(layout: Layout) -> list[int]:
    """The meanings that may share directions: values of one-hots and elements of sets."""
    return [
        dimension
        for name, spec in layout.program.specs.items()
        if _may_share(layout, name, spec)
        for dimension in layout.dimensions(name)
    ]


def _may_share(layout: Layout, name: str, spec: Variable) -> bool:
    return name not in layout.program.heads and not isinstance(spec, Numerical)


def _free(layout: Layout, shared: list[int]) -> Tensor:
    """Directions, a column each, that no state has a part in."""
    place = {dimension: at for at, dimension in enumerate(shared)}
    sums = torch.zeros(len(shared), 0, dtype=torch.float64)
    for name, spec in layout.program.specs.items():
        if isinstance(spec, Categorical) and name not in layout.program.heads:
            column = torch.zeros(len(shared), 1, dtype=torch.float64)
            column[[place[dimension] for dimension in layout.dimensions(name)]] = 1
            sums = torch.cat([sums, column], 1)
    if sums.shape[1] < 2:
        return sums[:, :0]
    found: Tensor = torch.linalg.qr(sums[:, 1:] - sums[:, :1])[0]
    return found


def _moments(layout: Layout, shared: list[int]) -> Tensor:
    """The second moments of the shared meanings over uniform, independent values."""
    means, blocks = [], []
    for name, spec in layout.program.specs.items():
        if not _may_share(layout, name, spec):
            continue
        states = torch.eye(len(spec.values), dtype=torch.float64)
        if isinstance(spec, SetValued):
            states = members(spec)
        means.append(states.mean(0))
        blocks.append(states.t() @ states / len(states) - torch.outer(means[-1], means[-1]))
    mean = torch.cat(means)
    found: Tensor = torch.block_diag(*blocks) + torch.outer(mean, mean)
    # A set's element that no declared set has would have no amount, and no read-out.
    return found + 1e-9 * torch.eye(len(shared), dtype=torch.float64)
