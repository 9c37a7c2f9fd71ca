"""What one language model alone and an ensemble share: losses, rates, annealing, storage.

All of it is tensors with an entry for each member, so that a state is stored in one file and a
captured graph can add to a loss without synchronising with the host.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from espalier.nets.language import AnyModel
from espalier.nets.lstm import StackedWeights
from espalier.runs import Row, Snapshot, matmul_precision
from espalier.training.configs import Recipe
from espalier.training.measures import Measure

Labels = Mapping[str, int | str]


class LSTMLearner:
    """A learner of one or more language models; subclasses have `weights` and take the steps.

    `members` are names with the labels that their rows carry.
    """

    steps_per_epoch: int
    weights: StackedWeights
    memory: dict[str, Tensor]  # recurrent states, and an optimiser's

    def __init__(
        self,
        members: Mapping[str, Labels],
        recipe: Recipe,
        *,
        like: AnyModel,
        measure: Measure,
        device: torch.device,
    ) -> None:
        self.names, self.labels, size = tuple(members), tuple(members.values()), len(members)
        self.recipe, self.shape, self.vocabulary = recipe, like.shape, like.vocabulary
        self.tests, self.device, self.step = measure, device, 0
        self.loss_sum = torch.zeros(size, device=device, dtype=torch.float64)
        self.loss_count = 0
        self.rate = torch.full((size,), recipe.learning_rate, device=device)
        self.best = torch.full((size,), float("inf"), dtype=torch.float64)
        self.until: Callable[[Tensor], Tensor] = torch.all  # members whose rates are too small

    @property
    def finished(self) -> bool:
        """Whether the rates have fallen too far: all members', or any's, as `until` says."""
        return bool(self.until(too_small(self.rate, self.recipe)))

    def stacked(self) -> StackedWeights:
        """The weights with a first axis of members."""
        return self.weights

    def advance(self, steps: int) -> None:
        """Take steps with every member, and wait for them."""
        with matmul_precision(self.recipe.precision):
            self.take(steps)
        self.step += steps
        self.loss_count += steps
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def take(self, steps: int) -> None:
        """Take steps, adding up losses."""
        raise NotImplementedError

    def measure(self) -> list[Row]:
        """A row for each member: learning rate, mean loss since the last measure, test results."""
        with matmul_precision(self.recipe.precision), torch.no_grad():
            tests = self.tests(self.stacked(), self.shape)
        means = (self.loss_sum / max(self.loss_count, 1)).tolist()
        self.loss_sum.zero_()
        self.loss_count = 0
        columns = zip(self.names, self.labels, self.rate.tolist(), means, tests, strict=True)
        return [
            {"member": name, **labels, "learning_rate": rate, "train_loss": loss, **test}
            for name, labels, rate, loss, test in columns
        ]

    def end_epoch(self, rows: Sequence[Row]) -> None:
        """Divide the rate of members whose validation loss is no better than their best."""
        recipe = self.recipe
        if recipe.settle and int(rows[0]["epoch"]) >= recipe.epochs - recipe.settle:
            self.rate.mul_(0.01 ** (1 / recipe.settle))
            return
        if recipe.anneal == 1 or "valid_loss" not in rows[0]:
            return
        losses = torch.tensor([float(row["valid_loss"]) for row in rows], dtype=torch.float64)
        worse = ~(losses < self.best)  # NaN counts as worse
        divisor = torch.where(worse, recipe.anneal, 1.0)
        self.rate.div_(divisor.to(self.rate))
        self.best = torch.where(worse, self.best, losses)

    def state(self) -> dict[str, Tensor]:
        """Everything that later steps depend on."""
        copies = {name: tensor.detach().to("cpu", copy=True) for name, tensor in self._kept()}
        counts = {"loss_count": self.loss_count, "taken": self.step}
        return copies | {name: torch.tensor(count) for name, count in counts.items()}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go back to a state, in place: a captured graph stays valid."""
        with torch.no_grad():
            for name, tensor in self._kept():
                tensor.copy_(state[name])
        self.loss_count, self.step = int(state["loss_count"]), int(state["taken"])

    def snapshot(self) -> Snapshot:
        """The weights, tied ones once, with what is needed to rebuild the models."""
        tensors = {name: w.detach().to("cpu", copy=True) for name, w in self.weights.items()}
        words = {} if self.vocabulary is None else self.vocabulary.to_metadata()
        return Snapshot(tensors, {"shape": json.dumps(self.shape.to_dict())} | words)

    def _kept(self) -> list[tuple[str, Tensor]]:
        weights = [(f"weights.{name}", tensor) for name, tensor in self.weights.items()]
        names = ("loss_sum", "rate", "best")
        return [*weights, *self.memory.items(), *((name, getattr(self, name)) for name in names)]


def too_small(rates: Float[Tensor, " E"], recipe: Recipe) -> Bool[Tensor, " E"]:
    """Whether each rate is below the smallest that is worth training at."""
    by_sgd = recipe.optimiser == "sgd"  # AdamW's rates are small from the start
    return (rates < recipe.smallest_rate) & by_sgd


def clip_scales(gradients: Sequence[Tensor], limit: float) -> Float[Tensor, " E"]:
    """Factors for each member's gradients, (E, ...), that clip their norm at `limit`."""
    squares = [torch.linalg.vector_norm(g.flatten(1), dim=1).square() for g in gradients]
    norms = torch.stack(squares).sum(0).sqrt()
    return (limit / (norms + 1e-6)).clamp(max=1.0)
