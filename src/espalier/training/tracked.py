"""The part that learning alone and learning together share: losses, rates, annealing, storage.

All of it is tensors, one entry a member, so that a state is stored in one file and a captured
graph can add to a loss without asking the host.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from espalier.runs import Row
from espalier.training.recipe import Recipe


class Tracked:
    """Sums of losses, learning rates and best validation losses of E members."""

    def __init__(
        self,
        recipe: Recipe,
        members: Mapping[str, Mapping[str, int | str]],
        *,
        device: torch.device,
    ) -> None:
        """Members by name, with the labels that their rows are to carry."""
        size = len(members)
        self.recipe, self.labels, self.names = recipe, tuple(members.values()), tuple(members)
        self.loss_sum = torch.zeros(size, device=device, dtype=torch.float64)
        self.loss_count = 0
        self.rate = torch.full((size,), recipe.learning_rate, device=device)
        self.best = torch.full((size,), float("inf"), dtype=torch.float64)

    def rows(self, tests: Sequence[dict[str, float]]) -> list[Row]:
        """One row a member: name, learning rate, mean loss since the last call, test results."""
        means = (self.loss_sum / max(self.loss_count, 1)).tolist()
        self.loss_sum.zero_()
        self.loss_count = 0
        rates = self.rate.tolist()
        columns = zip(self.names, self.labels, rates, means, tests, strict=True)
        return [
            {"member": name, **labels, "learning_rate": rate, "train_loss": loss, **test}
            for name, labels, rate, loss, test in columns
        ]

    def anneal(self, rows: Sequence[Row]) -> None:
        """Divide the rate of members whose validation loss is no better than their best."""
        if self.recipe.settle and int(rows[0]["epoch"]) >= self.recipe.epochs - self.recipe.settle:
            self.rate.mul_(0.01 ** (1 / self.recipe.settle))
            return
        if self.recipe.anneal == 1 or "valid_loss" not in rows[0]:
            return
        losses = torch.tensor([float(row["valid_loss"]) for row in rows], dtype=torch.float64)
        worse = ~(losses < self.best)  # NaN counts as worse
        divisor = torch.where(worse, self.recipe.anneal, 1.0)
        self.rate.div_(divisor.to(self.rate))
        self.best = torch.where(worse, self.best, losses)

    @property
    def finished(self) -> bool:
        """Whether every member's rate has fallen below the smallest that is worth training at."""
        return bool((self.rate < self.recipe.smallest_rate).all())

    def state(self) -> dict[str, Tensor]:
        """Copies of everything tracked, on the CPU."""
        return {
            "loss_sum": self.loss_sum.to("cpu", copy=True),
            "loss_count": torch.tensor(self.loss_count),
            "rate": self.rate.to("cpu", copy=True),
            "best": self.best.clone(),
        }

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go back to a state, in place."""
        self.loss_sum.copy_(state["loss_sum"])
        self.loss_count = int(state["loss_count"])
        self.rate.copy_(state["rate"])
        self.best = state["best"].clone()


def clip_scales(gradients: Sequence[Tensor], limit: float) -> Float[Tensor, " E"]:
    """What each member's gradients, (E, ...), are multiplied by so that their norm is `limit`."""
    squares = [torch.linalg.vector_norm(g.flatten(1), dim=1).square() for g in gradients]
    norms = torch.stack(squares).sum(0).sqrt()
    return (limit / (norms + 1e-6)).clamp(max=1.0)
