"""Adam and Adafactor for stacked weights: every member is updated as if it were alone.

Nothing asks the host for a number, so that a step can be captured as a CUDA graph. Both follow
torch.optim, whose Adafactor mixes members of a stack and cannot be captured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import torch
from torch import Tensor
from torch.optim.adam import adam

from espalier.errors import ConfigError

OptimiserName = Literal["adam", "adafactor"]
Weights = dict[str, Tensor]

_VECTORS = ("bias", "scale")  # names of weights that are no matrices end so
_SMALLEST_SCALE = 1e-3  # torch's and the paper's epsilon_2


class Adam:
    """Kingma & Ba (2014), with torch's defaults, as one fused kernel."""

    def __init__(self, weights: Weights, rate: float) -> None:
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
            list(gradients),
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
    """Shazeer & Stern (2018) as torch.optim.Adafactor has it, for each matrix of a stack.

    The last two axes are a matrix, or the last one a vector; all before them are stacked.
    """

    def __init__(self, weights: Weights, rate: float) -> None:
        self.rate, self.weights = rate, weights
        first = next(iter(weights.values()))
        self.count = torch.zeros((), dtype=torch.float64, device=first.device)
        self.moments: dict[str, Tensor] = {}
        for name, weight in weights.items():
            if name.endswith(_VECTORS):
                self.moments[f"square.{name}"] = torch.zeros_like(weight)
            else:
                self.moments[f"row.{name}"] = torch.zeros_like(weight[..., :1])
                self.moments[f"column.{name}"] = torch.zeros_like(weight[..., :1, :])

    @torch.no_grad()
    def update(self, gradients: Sequence[Tensor]) -> None:
        """One step down."""
        self.count += 1
        share = self.count**-0.8
        pace = self.count.rsqrt().clamp(max=self.rate)
        for (name, weight), gradient in zip(self.weights.items(), gradients, strict=True):
            own = (-1,) if name.endswith(_VECTORS) else (-2, -1)
            change = gradient * self._inverse_root(name, gradient, share.to(gradient.dtype))
            clip = _root_mean_square(change, own).clamp(min=1.0)
            scale = _root_mean_square(weight, own).clamp(min=_SMALLEST_SCALE)
            weight.addcmul_(change, scale * pace.to(scale.dtype) / clip, value=-1)

    def _inverse_root(self, name: str, gradient: Tensor, share: Tensor) -> Tensor:
        """One over the root of the running second moment, estimated from rows and columns."""
        smallest = torch.finfo(gradient.dtype).eps
        if name.endswith(_VECTORS):
            estimate = self.moments[f"square.{name}"].lerp_(gradient.square(), share)
        else:
            row, column = self.moments[f"row.{name}"], self.moments[f"column.{name}"]
            row.lerp_(_root_mean_square(gradient, (-1,)).square(), share)
            column.lerp_(_root_mean_square(gradient, (-2,)).square(), share)
            estimate = row * column / row.mean(-2, keepdim=True).clamp(min=smallest)
        return estimate.clamp(min=smallest**2).rsqrt()

    def tensors(self) -> dict[str, Tensor]:
        """Everything that later updates depend on, by name."""
        return self.moments | {"count": self.count}


Optimiser = Adam | Adafactor


def optimiser_of(name: OptimiserName, weights: Weights, rate: float) -> Optimiser:
    """The optimiser of that name, which updates `weights` in place."""
    match name:
        case "adam":
            return Adam(weights, rate)
        case "adafactor":
            return Adafactor(weights, rate)
    raise ConfigError(f"there is no optimiser {name!r}; use 'adam' or 'adafactor'")


def refill(tensors: Mapping[str, Tensor], state: Mapping[str, Tensor], prefix: str) -> None:
    """Copy what `state` holds under `prefix` into `tensors`, in place."""
    with torch.no_grad():
        for name, tensor in tensors.items():
            tensor.copy_(state[prefix + name])


def _root_mean_square(values: Tensor, own: tuple[int, ...]) -> Tensor:
    size = math.prod(values.shape[axis] for axis in own)
    norm: Tensor = torch.linalg.vector_norm(values, dim=own, keepdim=True)
    return norm / math.sqrt(size)
