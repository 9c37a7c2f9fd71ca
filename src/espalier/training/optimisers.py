"""Adam and Adafactor for stacked weights: every member is updated as if it were alone.

Nothing synchronises with the host, so that a step can be captured as a CUDA graph. Both follow
torch.optim, whose Adafactor mixes members of a stack and cannot be captured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import get_args

import torch
from torch import Tensor
from torch.optim.adam import adam

from espalier.errors import ConfigError, nearest
from espalier.nets import fused
from espalier.training.configs import OptimiserName

Tensors = dict[str, Tensor]  # by name, with a first axis of members

_VECTORS = ("bias", "scale")  # endings of the names of weights that are not matrices
_SMALLEST_SCALE = 1e-3  # torch's and the paper's epsilon_2
_SMALL = 1 << 22  # numbers of a weight; by estimate, copying more costs what fewer kernels save


class Adam:
    """Kingma & Ba (2014), with torch's defaults, as one fused kernel."""

    def __init__(self, weights: Tensors, rate: float) -> None:
        self.rate, self.weights = rate, list(weights.values())
        self.names = list(weights)
        self.means = [torch.zeros_like(weight) for weight in self.weights]
        self.squares = [torch.zeros_like(weight) for weight in self.weights]
        self.counts = [torch.zeros((), device=weight.device) for weight in self.weights]

    @torch.no_grad()
    def update(self, gradients: Sequence[Tensor]) -> None:
        """One step down."""
        adam(
            self.weights,
            # A compiled step may lay gradients out in another order than their weights.
            [g.to(w.dtype).contiguous() for w, g in zip(self.weights, gradients, strict=True)],
            self.means,
            self.squares,
            [],
            self.counts,
            fused=True,
            capturable=self.weights[0].is_cuda,
            amsgrad=False,
            beta1=0.9,
            beta2=0.999,
            lr=self.rate,
            weight_decay=0.0,
            eps=1e-8,
            maximize=False,
        )

    def tensors(self) -> dict[str, Tensor]:
        """Everything that later updates depend on, by name."""
        kinds = {"mean": self.means, "square": self.squares, "count": self.counts}
        return {
            f"{kind}.{name}": tensor
            for kind, tensors in kinds.items()
            for name, tensor in zip(self.names, tensors, strict=True)
        }


class Adafactor:
    """Shazeer & Stern (2018) as in torch.optim.Adafactor, for each matrix of a stack.

    The last two axes are a matrix, or the last one a vector; all before them are stacked. Steps are
    relative to the size of what they change; `absolute` ones are not, and the rate is no less in
    the first steps. Small weights of one shape are stacked and updated together.
    """

    def __init__(self, weights: Tensors, rate: float, *, absolute: bool = False) -> None:
        self.rate, self.weights, self.absolute = rate, weights, absolute
        first = next(iter(weights.values()))
        self.count = torch.zeros((), dtype=torch.float64, device=first.device)
        self.alike = _alike(weights)
        self.moments: list[dict[str, Tensor]] = []  # of weights that are alike, stacked
        for names in self.alike:
            weight = weights[names[0]]
            sizes = {"square": weight, "row": weight[..., :1], "column": weight[..., :1, :]}
            kept = {kind: sizes[kind] for kind in _kept(names[0])}
            self.moments.append(
                {kind: like.new_zeros(len(names), *like.shape) for kind, like in kept.items()}
            )

    @torch.no_grad()
    def update(self, gradients: Sequence[Tensor]) -> None:
        """One step down."""
        self.count += 1
        share = (self.count**-0.8).float()
        pace = torch.full_like(share, self.rate)
        if not self.absolute:
            pace = self.count.rsqrt().float().minimum(pace)
        found = dict(zip(self.weights, gradients, strict=True))
        for names, moments in zip(self.alike, self.moments, strict=True):
            own = [self.weights[name] for name in names]
            weight, gradient = _together(own), _together([found[name] for name in names])
            kept = moments.values()
            if weight.is_cuda and len(moments) == 2:
                roots = fused(_roots, weight)(gradient, *kept, share)
                step = fused(_step_by_roots, weight)
                step(weight, gradient, *roots, pace, self.absolute)
            else:
                step = fused(_step_of(names[0]), weight)
                step(weight, gradient, *kept, share, pace, self.absolute)
            if len(names) > 1:
                torch._foreach_copy_(own, weight.unbind())

    def tensors(self) -> dict[str, Tensor]:
        """Everything that later updates depend on, by name."""
        return {"count": self.count} | {
            f"{kind}.{name}": tensor
            for names, moments in zip(self.alike, self.moments, strict=True)
            for kind, stack in moments.items()
            for name, tensor in zip(names, stack, strict=True)
        }


def _alike(weights: Tensors) -> list[list[str]]:
    """Names of weights that are updated together: of one shape and kind, and small."""
    groups: dict[object, list[str]] = {}
    for name, weight in weights.items():
        small = weight.numel() <= _SMALL
        groups.setdefault((_kept(name), weight.shape) if small else name, []).append(name)
    return list(groups.values())


def _together(tensors: list[Tensor]) -> Tensor:
    """The tensors as one stack."""
    return torch.stack(tensors) if len(tensors) > 1 else tensors[0].unsqueeze(0)


def _kept(name: str) -> tuple[str, ...]:
    """The second moments of a weight: of every number, or of a matrix's rows and columns."""
    return ("square",) if name.endswith(_VECTORS) else ("row", "column")


def _step_of(name: str) -> Callable[..., None]:
    return _vector_step if name.endswith(_VECTORS) else _matrix_step


def _vector_step(
    weight: Tensor, gradient: Tensor, square: Tensor, share: Tensor, pace: Tensor, absolute: bool
) -> None:
    """Update vectors, with a running second moment of every number."""
    gradient = gradient.to(weight.dtype)
    square.lerp_(gradient.square(), share)
    _take(weight, gradient * _inverse_root(square), pace, (-1,), absolute)


def _matrix_step(
    weight: Tensor,
    gradient: Tensor,
    row: Tensor,
    column: Tensor,
    share: Tensor,
    pace: Tensor,
    absolute: bool,
) -> None:
    """Update matrices, with second moments estimated from those of their rows and columns."""
    gradient = gradient.to(weight.dtype)
    mean = _follow(gradient, row, column, share)
    change = gradient * _inverse_root(row * column / mean)
    _take(weight, change, pace, (-2, -1), absolute)


def _follow(gradient: Tensor, row: Tensor, column: Tensor, share: Tensor) -> Tensor:
    """Move second moments of rows and columns on; the mean of the former."""
    row.lerp_(gradient.square().mean(-1, keepdim=True), share)
    column.lerp_(gradient.square().mean(-2, keepdim=True), share)
    return row.mean(-2, keepdim=True).clamp(min=torch.finfo(gradient.dtype).eps)


def _roots(gradient: Tensor, row: Tensor, column: Tensor, share: Tensor) -> tuple[Tensor, Tensor]:
    """Of rows and columns what their product is the inverse root of, after moving moments on."""
    mean = _follow(gradient.to(row.dtype), row, column, share)
    return (row / mean).rsqrt(), column.rsqrt()


def _step_by_roots(
    weight: Tensor,
    gradient: Tensor,
    of_row: Tensor,
    of_column: Tensor,
    pace: Tensor,
    absolute: bool,
) -> None:
    """What `_matrix_step` does, up to rounding, without storing anything of a weight's size."""
    most = 1 / torch.finfo(weight.dtype).eps
    change = gradient.to(weight.dtype) * (of_row * of_column).clamp(max=most)
    _take(weight, change, pace, (-2, -1), absolute)


def _inverse_root(square: Tensor) -> Tensor:
    return square.clamp(min=torch.finfo(square.dtype).eps ** 2).rsqrt()


def _take(
    weight: Tensor, change: Tensor, pace: Tensor, own: tuple[int, ...], absolute: bool
) -> None:
    """One step, of a size that does not depend on the gradient's."""
    clip = _root_mean_square(change, own).clamp(min=1.0)
    if not absolute:
        pace = pace * _root_mean_square(weight, own).clamp(min=_SMALLEST_SCALE)
    weight.sub_(change * (pace / clip))


def _root_mean_square(values: Tensor, own: tuple[int, ...]) -> Tensor:
    return values.square().mean(own, keepdim=True).sqrt()


Optimiser = Adam | Adafactor


def optimiser_of(name: OptimiserName, weights: Tensors, rate: float) -> Optimiser:
    """The optimiser of that name, which updates `weights` in place."""
    match name:
        case "adam":
            return Adam(weights, rate)
        case "adafactor" | "adafactor-absolute":
            return Adafactor(weights, rate, absolute=name == "adafactor-absolute")
    raise ConfigError(f"there is no optimiser {name!r}; {nearest(name, get_args(OptimiserName))}")
