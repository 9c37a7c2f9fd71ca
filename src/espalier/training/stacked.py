"""Many models of one shape learning one kind of task, as one computation.

A task says what a step's loss is; the models' weights are stacked along a first axis E, and a
step, from drawing the batch to updating the weights, is one captured graph on CUDA. Batches and
noise are functions of (seed, step): a run that was stopped goes on exactly.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Literal, Protocol, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from espalier.errors import ConfigError, FileError, check_whole, is_number, nearest
from espalier.nets import Dice
from espalier.runs import Row, Snapshot, Step, captured, matmul_precision
from espalier.training.optimisers import OptimiserName, Weights, optimiser_of, refill

StepPrecision = Literal["float32", "tf32", "bfloat16"]


@dataclass(frozen=True)
class StepRecipe:
    """How long and with what a stack is trained; `measures` is how often it is measured.

    `precision` concerns products on CUDA, but bfloat16, which holds everywhere it is asked for.
    """

    steps: int = 50_000
    batch: int = 256
    learning_rate: float = 5e-4
    optimiser: OptimiserName = "adafactor"
    measures: int = 10
    precision: StepPrecision = "tf32"

    def __post_init__(self) -> None:
        check_whole(self, ("steps", "batch", "measures"), error=ConfigError)
        if not is_number(self.learning_rate) or self.learning_rate <= 0:
            raise ConfigError(f"learning_rate is {self.learning_rate!r}; use a number above 0")
        if self.steps % self.measures:
            raise ConfigError(
                f"{self.steps} steps are not divided evenly by {self.measures} measures; "
                f"choose a number of measures that divides the steps"
            )
        for name, known in (("optimiser", OptimiserName), ("precision", StepPrecision)):
            if getattr(self, name) not in get_args(known):
                found = getattr(self, name)
                raise ConfigError(f"{name} is {found!r}; {nearest(found, get_args(known))}")

    def to_dict(self) -> dict[str, object]:
        """The fields by name, for a manifest."""
        return asdict(self)


class Task(Protocol):
    """What a stack of models learns; losses and measures are of weights as products see them."""

    def seen(self, weights: Weights) -> Weights:
        """The weights as products see them, of which gradients are taken."""

    def losses(self, weights: Weights, dice: Dice) -> Float[Tensor, " E"]:
        """Every member's loss on the batch that the dice choose; asks nothing of the host."""

    def measure(self, weights: Weights) -> list[dict[str, float]]:
        """One row a member."""


@dataclass(frozen=True)
class Team:
    """Who learns: a name and a seed for each member, and labels for its rows."""

    names: tuple[str, ...]
    seeds: tuple[int, ...]
    labels: tuple[dict[str, int | str], ...]

    @classmethod
    def of(cls, seeds: Sequence[int]) -> Team:
        """Members that differ in their seed alone."""
        names = tuple(f"seed-{seed}" for seed in seeds)
        return cls(names, tuple(seeds), tuple({"seed": seed} for seed in seeds))


def check_seeds(seeds: Iterable[int]) -> tuple[int, ...]:
    """The seeds, if they are integers of 64 bits, one at least and none twice."""
    found = list(seeds) if isinstance(seeds, Iterable) else seeds
    if (
        not isinstance(found, list)
        or not found
        or not all(type(seed) is int and abs(seed) < 1 << 63 for seed in found)
        or len(set(found)) < len(found)
    ):
        raise ConfigError(f"seeds are {found}; give integers, at least one, and none twice")
    return tuple(found)


class StackedLearner:
    """A learner of E models; `weights` have a first axis E and are updated in place."""

    def __init__(
        self,
        task: Task,
        weights: Weights,
        recipe: StepRecipe,
        *,
        team: Team,
        device: torch.device,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        self.task, self.recipe, self.team, self.device = task, recipe, team, device
        self.metadata = dict(metadata or {})
        self.weights = {
            name: tensor.to(device, copy=True).requires_grad_() for name, tensor in weights.items()
        }
        self.optimiser = optimiser_of(recipe.optimiser, self.weights, recipe.learning_rate)
        self.seeds = torch.tensor(team.seeds, device=device)
        self.taken = torch.zeros((), dtype=torch.int64, device=device)
        self.loss_sum = torch.zeros(len(team.names), dtype=torch.float64, device=device)
        self._step, self._measured = 0, 0
        self._run: Step | None = None
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None

    @property
    def step(self) -> int:
        """Steps taken so far."""
        return self._step

    @property
    def steps_per_epoch(self) -> int:
        """Steps from one measure to the next: data is drawn, so there are no epochs of it."""
        return self.recipe.steps // self.recipe.measures

    @property
    def finished(self) -> bool:
        """Never before the last step."""
        return False

    def advance(self, steps: int) -> None:
        """Take steps with every member, and wait for them; others may use the device meanwhile."""
        if self._run is None:
            with self._precisely():
                self._run = captured(self._one_step, self._mutable(), self.device)
        with self._precisely() if self._stream is None else torch.cuda.stream(self._stream):
            for _ in range(steps):
                self._run()
        self._step += steps
        if self._stream is not None:
            self._stream.synchronize()

    def _one_step(self) -> None:
        with torch.no_grad():
            seen = self.task.seen(self.weights)
        known = [seen[name].requires_grad_() for name in self.weights]
        losses = self.task.losses(seen, Dice(self.seeds, self.taken))
        self.optimiser.update(torch.autograd.grad(losses.sum(), known))
        with torch.no_grad():
            self.loss_sum.add_(losses)
            self.taken.add_(1)

    def measure(self) -> list[Row]:
        """One row a member: its name, the mean loss since the last measure, and the tests."""
        with self._precisely(), torch.no_grad():
            tests = self.task.measure(self.task.seen(self.weights))
        means = (self.loss_sum / max(1, self._step - self._measured)).tolist()
        self.loss_sum.zero_()
        self._measured = self._step
        columns = zip(self.team.names, self.team.labels, means, tests, strict=True)
        return [
            {"member": name, **labels, "train_loss": loss, **test}
            for name, labels, loss, test in columns
        ]

    def end_epoch(self, rows: Sequence[Row]) -> None:
        """Nothing is annealed."""

    def state(self) -> dict[str, Tensor]:
        """Everything that later steps depend on."""
        copies = {name: tensor.detach().to("cpu", copy=True) for name, tensor in self._kept()}
        return copies | {"measured": torch.tensor(self._measured)}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go back to a state, in place: a captured graph stays valid."""
        kept = dict(self._kept())
        wrong = [
            name for name in kept if name not in state or state[name].shape != kept[name].shape
        ]
        if wrong:
            raise FileError(
                f"the state to go on from does not fit these models ({wrong[0]} among others); "
                f"remove the run's folder to begin anew"
            )
        refill(kept, state, "")
        self._step, self._measured = int(state["taken"]), int(state["measured"])

    def snapshot(self) -> Snapshot:
        """Stacked weights, with the members' names and what the task says of the models."""
        tensors = {name: w.detach().to("cpu", copy=True) for name, w in self.weights.items()}
        return Snapshot(tensors, self.metadata | {"members": json.dumps(self.team.names)})

    def _kept(self) -> list[tuple[str, Tensor]]:
        weights = [(f"weights.{name}", tensor) for name, tensor in self.weights.items()]
        moments = [(f"optimiser.{name}", t) for name, t in self.optimiser.tensors().items()]
        return [*weights, *moments, ("taken", self.taken), ("loss_sum", self.loss_sum)]

    def _mutable(self) -> list[Tensor]:
        return [tensor for _, tensor in self._kept()]

    def _precisely(self) -> AbstractContextManager[None]:
        return precisely(self.recipe)


def precisely(recipe: StepRecipe) -> AbstractContextManager[None]:
    """Products on CUDA as the recipe asks for them."""
    return matmul_precision("float32" if recipe.precision == "float32" else "tf32")
