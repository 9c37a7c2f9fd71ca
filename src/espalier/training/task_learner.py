"""Many models of one shape learning one task from drawn batches, as one computation.

A task says what a step's loss is; the models' weights are stacked along a first axis E, and a
step, from drawing the batch to updating the weights, is one captured graph on CUDA, of a few where
batches differ in size. Batches and noise are functions of (seed, step), so a stopped run resumes
exactly.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import ClassVar, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from espalier.errors import FileError
from espalier.nets import Dice, bfloat16_products
from espalier.runs import AtEpochs, Plan, Row, Snapshot, Step, captured, matmul_precision
from espalier.training.configs import StepRecipe
from espalier.training.lstm_learner import Labels
from espalier.training.optimisers import Tensors, optimiser_of


@runtime_checkable
class Task(Protocol):
    """What models learn; losses and measures take the weights that `seen` returns."""

    fit: ClassVar[str]  # the measure that is a share of training's examples: which are right

    def seen(self, weights: Tensors) -> Tensors:
        """The weights in the precision of products; gradients are taken of these."""

    def losses(self, weights: Tensors, dice: Dice) -> Float[Tensor, " E"]:
        """Every member's loss on the batch the dice choose; must not synchronise with the host."""

    def measure(self, weights: Tensors) -> list[dict[str, float]]:
        """A row for each member."""


@runtime_checkable
class OfDifferentSizes(Task, Protocol):
    """A task whose batches differ in size, while a captured step computes with one size."""

    def capacities(self, seeds: Int[Tensor, " E"], steps: range) -> list[int]:
        """For each step one of a few sizes, into which its batches fit."""

    def with_capacity(self, capacity: int) -> Task:
        """The same task for steps of this size."""


class TaskLearner:
    """A learner of E models; `weights` have a first axis E and are updated in place.

    `members` are names with labels for their rows; the label `seed` is what a member draws by.
    """

    def __init__(
        self,
        task: Task,
        weights: Tensors,
        recipe: StepRecipe,
        *,
        members: Mapping[str, Labels],
        device: torch.device,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        self.task, self.recipe, self.device, self.members = task, recipe, device, members
        self.metadata = dict(metadata or {}) | {"members": json.dumps(list(members))}
        self.weights = {
            name: tensor.to(device, copy=True).requires_grad_() for name, tensor in weights.items()
        }
        self.optimiser = optimiser_of(recipe.optimiser, self.weights, recipe.learning_rate)
        self.seeds = torch.tensor([one["seed"] for one in members.values()], device=device)
        self.taken = torch.zeros((), dtype=torch.int64, device=device)
        self.loss_sum = torch.zeros(len(members), dtype=torch.float64, device=device)
        self.step, self._measured = 0, 0
        self.steps_per_epoch = recipe.steps // recipe.measures  # data is drawn: no epochs of it
        self.fitted = 0  # measures in a row, up to the last, with a share that ends training
        self._steps: dict[int | None, Step] = {}  # by their capacity
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None

    @property
    def finished(self) -> bool:
        """Whether every member has had its share of training's examples right for long enough."""
        return self.recipe.stop_share is not None and self.fitted >= self.recipe.stop_measures

    def advance(self, steps: int) -> None:
        """Take steps with every member, and wait for them; others may use the device meanwhile."""
        capacities = self._capacities(steps)
        for capacity in dict.fromkeys(capacities):
            if capacity not in self._steps:
                self._steps[capacity] = self._captured(capacity)
        if self._stream is not None:  # wait for what a measure or a restored state changed
            self._stream.wait_stream(torch.cuda.current_stream(self.device))
        with (
            products(self.recipe, self.device)
            if self._stream is None
            else torch.cuda.stream(self._stream)
        ):
            for capacity in capacities:
                self._steps[capacity]()
        self.step += steps
        if self._stream is not None:
            self._stream.synchronize()

    def _capacities(self, steps: int) -> list[int] | list[None]:
        """What each of the next steps has to hold; None if all batches have one size."""
        if not isinstance(self.task, OfDifferentSizes):
            return [None] * steps
        return self.task.capacities(self.seeds, range(self.step, self.step + steps))

    def _captured(self, capacity: int | None) -> Step:
        task = self.task
        if capacity is not None and isinstance(task, OfDifferentSizes):
            task = task.with_capacity(capacity)
        mutable = [tensor for _, tensor in self._kept()]
        with products(self.recipe, self.device):
            return captured(partial(self._one_step, task), mutable, self.device)

    def _one_step(self, task: Task) -> None:
        with torch.no_grad():
            seen = task.seen(self.weights)
        known = [seen[name].requires_grad_() for name in self.weights]
        losses = task.losses(seen, Dice(self.seeds, self.taken))
        self.optimiser.update(torch.autograd.grad(losses.sum(), known))
        with torch.no_grad():
            self.loss_sum.add_(losses)
            self.taken.add_(1)

    def measure(self) -> list[Row]:
        """A row for each member: its name, the mean loss since the last measure, and the tests."""
        with products(self.recipe, self.device), torch.no_grad():
            tests = self.task.measure(self.task.seen(self.weights))
        means = (self.loss_sum / max(1, self.step - self._measured)).tolist()
        self.loss_sum.zero_()
        self._measured = self.step
        return [
            {"member": name, **labels, "train_loss": loss, **test}
            for (name, labels), loss, test in zip(self.members.items(), means, tests, strict=True)
        ]

    def end_epoch(self, rows: Sequence[Row]) -> None:
        """Nothing is annealed; shares that may end training are counted."""
        share = self.recipe.stop_share
        if share is not None:
            fits = all(float(row[self.task.fit]) >= share for row in rows)
            self.fitted = self.fitted + 1 if fits else 0

    def state(self) -> dict[str, Tensor]:
        """Everything that later steps depend on."""
        copies = {name: tensor.detach().to("cpu", copy=True) for name, tensor in self._kept()}
        counts = {"measured": self._measured}
        if self.recipe.stop_share is not None:  # other runs store none, as in earlier versions
            counts["fitted"] = self.fitted
        return copies | {name: torch.tensor(count) for name, count in counts.items()}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go back to a state, in place: a captured graph stays valid."""
        kept = self._kept()
        wrong = [name for name, own in kept if name not in state or state[name].shape != own.shape]
        if wrong:
            raise FileError(
                f"the state to resume from does not fit these models ({wrong[0]} among others); "
                f"remove the run's folder to start over"
            )
        with torch.no_grad():
            for name, tensor in kept:
                tensor.copy_(state[name])
        self.step, self._measured = int(state["taken"]), int(state["measured"])
        self.fitted = int(state.get("fitted", 0))

    def snapshot(self) -> Snapshot:
        """Stacked weights, with the members' names and the task's description of the models."""
        tensors = {name: w.detach().to("cpu", copy=True) for name, w in self.weights.items()}
        return Snapshot(tensors, dict(self.metadata))

    def _kept(self) -> list[tuple[str, Tensor]]:
        weights = [(f"weights.{name}", tensor) for name, tensor in self.weights.items()]
        moments = [(f"optimiser.{name}", t) for name, t in self.optimiser.tensors().items()]
        return [*weights, *moments, ("taken", self.taken), ("loss_sum", self.loss_sum)]


def by_seed(seeds: Sequence[int]) -> dict[str, Labels]:
    """Members that differ in their seed alone.

    >>> by_seed((0, 7))
    {'seed-0': {'seed': 0}, 'seed-7': {'seed': 7}}
    """
    return {f"seed-{seed}": {"seed": seed} for seed in seeds}


@contextmanager
def products(recipe: StepRecipe, device: torch.device) -> Iterator[None]:
    """A block whose products on the device have the recipe's precision."""
    short = bfloat16_products(device) if recipe.precision == "bfloat16" else nullcontext()
    with matmul_precision("float32" if recipe.precision == "float32" else "tf32"), short:
        yield


def step_plan(recipe: StepRecipe) -> Plan:
    """Train to the last step, and save its weights."""
    return Plan(recipe.measures, (AtEpochs((recipe.measures,)),))
