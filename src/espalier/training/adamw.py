"""AdamW for stacked weights with a rate that rises and falls, all of it on the device."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.optim.adamw import adamw

from espalier.training.configs import Recipe


@dataclass(frozen=True)
class Schedule:
    """A rate that rises linearly over the warm-up and falls to 0 by a cosine at the last step."""

    recipe: Recipe
    steps: int

    def rate(self, taken: Int[Tensor, ""]) -> Float[Tensor, ""]:
        """The rate of the step after `taken` steps."""
        warm, now = self.recipe.warm_up, taken.float()
        rising = ((now + 1) / max(warm, 1)).clamp(max=1.0)
        along = ((now - warm) / max(self.steps - warm, 1)).clamp(0.0, 1.0)
        return self.recipe.learning_rate * rising * (1 + (math.pi * along).cos()) / 2


def moments_of(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Zeros for the running mean and square of every weight's gradient."""
    return {
        f"{kind}.{name}": torch.zeros_like(weight)
        for kind in ("mean", "square")
        for name, weight in weights.items()
    }


def step_adamw(
    weights: Mapping[str, Tensor],
    gradients: Sequence[Tensor],
    moments: Mapping[str, Tensor],
    rate_and_taken: tuple[Float[Tensor, ""], Int[Tensor, ""]],
    recipe: Recipe,
) -> None:
    """One step down in place: matrices decay, biases and norms do not."""
    rate, taken = rate_and_taken
    named = dict(zip(weights, gradients, strict=True))
    matrices = [name for name in weights if weights[name].dim() > 2]  # the first axis is members
    for names in (matrices, [name for name in weights if name not in matrices]):
        adamw(
            [weights[name].detach() for name in names],
            [named[name].contiguous() for name in names],
            [moments[f"mean.{name}"] for name in names],
            [moments[f"square.{name}"] for name in names],
            [],
            list(taken.float().repeat(len(names)).unbind()),  # one counter for each weight
            fused=True,
            capturable=taken.is_cuda,
            amsgrad=False,
            beta1=0.9,
            beta2=0.999,
            lr=rate,
            weight_decay=recipe.weight_decay if names is matrices else 0.0,
            eps=1e-8,
            maximize=False,
        )
