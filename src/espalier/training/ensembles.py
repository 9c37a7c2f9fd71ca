"""Many language models trained as one computation, each as if it were alone.

Members have weights, data, clipping, learning rate and dropout of their own; only the kernels
are shared, in `training.part`. On CUDA a whole step, from fetching the tokens to updating the
weights, is one captured graph that takes nothing from the host.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Int
from torch import Tensor

from espalier.errors import ModelError
from espalier.nets.lstm import LanguageModel, members
from espalier.runs import Row, Snapshot, matmul_precision
from espalier.training.measures import Measure
from espalier.training.part import Tensors, divide, run_all
from espalier.training.recipe import Recipe
from espalier.training.tracked import Tracked


@dataclass(frozen=True)
class Member:
    """One model of an ensemble: its name, first weights, seed of dropout, and labels for rows."""

    name: str
    model: LanguageModel
    seed: int = 0
    labels: Mapping[str, int | str] = field(default_factory=dict)


class Ensemble:
    """A learner of E language models; `streams` holds each one's tokens, (E, S, B)."""

    def __init__(
        self,
        team: Sequence[Member],
        streams: Int[Tensor, "E S B"],
        recipe: Recipe,
        *,
        measure: Measure,
        device: torch.device,
    ) -> None:
        _refuse_mismatch(team, streams)
        self.shape, self.recipe, self.device = team[0].model.shape, recipe, device
        self.vocabulary, self.tests = team[0].model.vocabulary, measure
        stacked = members.stack([one.model for one in team])
        self.weights = {name: tensor.to(device) for name, tensor in stacked.items()}
        self.hidden, self.cell = members.initial_state(self.weights, self.shape, streams.shape[2])
        self.tracked = Tracked(recipe, {one.name: one.labels for one in team}, device=device)
        rates = [one.model.shape.dropout for one in team]
        self.dropout = torch.tensor(rates, device=device) if any(rates) else None
        whole = Tensors(
            weights=self.weights,
            streams=streams.to(device),
            hidden=self.hidden,
            cell=self.cell,
            seeds=torch.tensor([one.seed for one in team], device=device),
            dropout=self.dropout,
            tracked=self.tracked,
        )
        self.parts, self._step = divide(whole, recipe), 0

    @property
    def step(self) -> int:
        """Steps taken so far."""
        return self._step

    @property
    def steps_per_epoch(self) -> int:
        """Whole windows in a row."""
        return self.parts[0].steps_per_epoch

    @property
    def finished(self) -> bool:
        """Whether annealing has come to its end."""
        return self.tracked.finished

    def advance(self, steps: int) -> None:
        """Take steps with every member, and wait for them."""
        with matmul_precision(self.recipe.precision):
            run_all(self.parts, self._step, steps)
        self._step += steps
        self.tracked.loss_count += steps
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def measure(self) -> list[Row]:
        """One row a member."""
        with matmul_precision(self.recipe.precision), torch.no_grad():
            return self.tracked.rows(self.tests(self.weights, self.shape))

    def end_epoch(self, rows: Sequence[Row]) -> None:
        """Anneal each member by its own validation loss."""
        self.tracked.anneal(rows)

    def state(self) -> dict[str, Tensor]:
        """Everything that later steps depend on."""
        weights = {f"weights.{name}": tensor for name, tensor in self.weights.items()}
        mine = weights | {"hidden": self.hidden, "cell": self.cell}
        copies = {name: tensor.to("cpu", copy=True) for name, tensor in mine.items()}
        return copies | self.tracked.state() | {"taken": torch.tensor(self._step)}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go back to a state, in place: a captured graph stays valid."""
        for name, tensor in self.weights.items():
            tensor.copy_(state[f"weights.{name}"])
        self.hidden.copy_(state["hidden"])
        self.cell.copy_(state["cell"])
        self._step = int(state["taken"])
        for part in self.parts:
            part.taken.fill_(self._step)
        self.tracked.restore(state)

    def snapshot(self) -> Snapshot:
        """Stacked weights, named as in one model's state, with the members' names."""
        named = self.weights.items()
        tensors = {name: tensor.to("cpu", copy=True) for name, tensor in named}
        metadata = {
            "shape": json.dumps(self.shape.to_dict()),
            "members": json.dumps(self.tracked.names),
        }
        if self.dropout is not None:
            metadata["dropout"] = json.dumps(self.dropout.tolist())
        if self.vocabulary is not None:
            metadata |= self.vocabulary.to_metadata()
        return Snapshot(tensors, metadata)

    def models(self) -> list[LanguageModel]:
        """Every member as a model of its own, on the CPU."""
        return [
            members.member(self.weights, index, self.shape)
            for index in range(len(self.tracked.names))
        ]


def _refuse_mismatch(team: Sequence[Member], streams: Int[Tensor, "E S B"]) -> None:
    if len(team) != len(streams):
        raise ModelError(
            f"{len(team)} members were given {len(streams)} streams of tokens; give one to each"
        )
    names = [one.name for one in team]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ModelError(f"members need distinct names; given twice: {', '.join(twice)}")
    size = team[0].model.shape.vocabulary_size
    largest = int(streams.max())
    if largest >= size:
        raise ModelError(f"the data holds token {largest}, the vocabulary ends at {size - 1}")
