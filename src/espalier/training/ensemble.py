"""Many language models trained as one computation, each as if it were alone.

Members have weights, data, clipping, learning rate and dropout of their own; only the kernels
are shared. On CUDA a whole step, from fetching the tokens to updating the weights, is one
captured graph that takes nothing from the host.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from espalier.errors import ModelError
from espalier.nets import members
from espalier.nets.lstm import LanguageModel
from espalier.nets.noise import Noise
from espalier.training.devices import precise
from espalier.training.graphs import Step, captured
from espalier.training.learner import Row, Snapshot
from espalier.training.measures import Measure
from espalier.training.recipe import Recipe
from espalier.training.tracked import Tracked, clip_scales


@dataclass(frozen=True)
class Member:
    """One model of an ensemble: its name, its first weights and the seed of its dropout."""

    name: str
    model: LanguageModel
    seed: int = 0


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
        self.vocabulary = team[0].model.vocabulary
        self.streams, self.tests = streams.to(device), measure
        stacked = members.stack([one.model for one in team])
        self.weights = {
            name: tensor.to(device).requires_grad_() for name, tensor in stacked.items()
        }
        self.tracked = Tracked(recipe, [one.name for one in team], device)
        self.hidden, self.cell = members.initial_state(stacked, self.shape, streams.shape[2])
        self.hidden, self.cell = self.hidden.to(device), self.cell.to(device)
        rates = [one.model.shape.dropout for one in team]
        self.dropout = torch.tensor(rates, device=device) if any(rates) else None
        self.seeds = torch.tensor([one.seed for one in team], device=device)
        self.taken = torch.zeros((), dtype=torch.int64, device=device)  # the graph counts
        self._offsets = torch.arange(recipe.window + 1, device=device)
        self._step = 0
        self._graph: Step | None = None

    @property
    def step(self) -> int:
        """Steps taken so far."""
        return self._step

    @property
    def steps_per_epoch(self) -> int:
        """Whole windows in a row."""
        return (self.streams.shape[1] - 1) // self.recipe.window

    @property
    def finished(self) -> bool:
        """Whether annealing has come to its end."""
        return self.tracked.finished

    def advance(self, steps: int) -> None:
        """Take steps; the hidden state starts from zero at the head of the data."""
        with precise(self.recipe.precision):
            if self._graph is None:
                self._graph = captured(self._one_step, self._mutable(), self.device)
            for _ in range(steps):
                if self._step % self.steps_per_epoch == 0:
                    self.hidden.zero_()
                    self.cell.zero_()
                self._graph()
                self._step += 1
        self.tracked.loss_count += steps
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def _one_step(self) -> None:
        """Fetch, read, differentiate, clip, update: everything stays on the device."""
        start = (self.taken % self.steps_per_epoch) * self.recipe.window
        tokens = self.streams.index_select(1, start + self._offsets).long()
        noise = None if self.dropout is None else Noise(self.dropout, self.seeds, self.taken)
        hidden, (last, cell) = members.read(
            self.weights, tokens[:, :-1], (self.hidden, self.cell), noise=noise
        )
        decode = members.decode_aligned if self.device.type == "cuda" else members.decode
        logits = decode(self.weights, hidden.flatten(1, 2))
        losses = members.mean_losses(logits, tokens[:, 1:].flatten(1, 2))
        gradients = torch.autograd.grad(losses.sum(), list(self.weights.values()))
        with torch.no_grad():
            scales = clip_scales(gradients, self.recipe.clip) * self.tracked.rate
            for weight, gradient in zip(self.weights.values(), gradients, strict=True):
                by_member = scales.view(-1, *[1] * (weight.dim() - 1))
                weight.addcmul_(gradient, by_member, value=-1)
            self.hidden.copy_(last)
            self.cell.copy_(cell)
            self.tracked.loss_sum.add_(losses)
            self.taken.add_(1)

    def _mutable(self) -> list[Tensor]:
        """What a step changes in place."""
        mine = [self.hidden, self.cell, self.taken, self.tracked.loss_sum]
        return [*self.weights.values(), *mine]

    def measure(self) -> list[Row]:
        """One row a member."""
        with precise(self.recipe.precision), torch.no_grad():
            return self.tracked.rows(self.tests(self.weights, self.shape))

    def end_epoch(self, rows: Sequence[Row]) -> None:
        """Anneal each member by its own validation loss."""
        self.tracked.anneal(rows)

    def state(self) -> dict[str, Tensor]:
        """Everything that later steps depend on."""
        weights = {f"weights.{name}": tensor for name, tensor in self.weights.items()}
        mine = weights | {"hidden": self.hidden, "cell": self.cell, "taken": self.taken}
        copies = {name: tensor.detach().to("cpu", copy=True) for name, tensor in mine.items()}
        return copies | self.tracked.state()

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go back to a state, in place: a captured graph stays valid."""
        with torch.no_grad():
            for name, tensor in self.weights.items():
                tensor.copy_(state[f"weights.{name}"])
            self.hidden.copy_(state["hidden"])
            self.cell.copy_(state["cell"])
            self.taken.copy_(state["taken"])
        self._step = int(state["taken"])
        self.tracked.restore(state)

    def snapshot(self) -> Snapshot:
        """Stacked weights, named as in one model's state, with the members' names."""
        named = self.weights.items()
        tensors = {name: tensor.detach().to("cpu", copy=True) for name, tensor in named}
        metadata = {
            "shape": json.dumps(self.shape.to_dict()),
            "members": json.dumps(self.tracked.names),
        }
        if self.dropout is not None:
            metadata["dropout"] = json.dumps(self.dropout.tolist())
        if self.vocabulary is not None:
            metadata["words"] = json.dumps(self.vocabulary.words)
        return Snapshot(tensors, metadata)

    def models(self) -> list[LanguageModel]:
        """Every member as a model of its own, on the CPU."""
        return [members.member(self.weights, index, self.shape) for index in range(len(self.seeds))]


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
