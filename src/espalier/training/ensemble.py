"""Many language models trained as one computation, each as if it were alone.

Members have weights, data, clipping, learning rate and dropout of their own; only the kernels are
shared. On CUDA a whole step, from fetching the tokens to updating the weights, is one captured
graph that takes nothing from the host. On a CPU members are divided among threads: those never wait
for each other, where threads inside small products would, step by step.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import torch
from jaxtyping import Int
from torch import Tensor

from espalier.errors import ConfigError, ModelError
from espalier.nets import Noise, mix
from espalier.nets.language import AnyModel, CausalShape, stacked
from espalier.nets.lstm import members
from espalier.runs import Snapshot, Step, captured
from espalier.training.adamw import Schedule, moments_of, step_adamw
from espalier.training.configs import Recipe
from espalier.training.lstm_learner import Labels, LSTMLearner, clip_scales
from espalier.training.measures import Measure

OUTPUT = -1  # the place of a Transformer's last states among those that are dropped out


@dataclass(frozen=True)
class Member:
    """One model of an ensemble: its name, first weights, seed of dropout, and labels for rows."""

    name: str
    model: AnyModel
    seed: int = 0
    labels: Labels = field(default_factory=dict)


class EnsembleLearner(LSTMLearner):
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
        _refuse_recipe(recipe, team[0].model, (streams.shape[1] - 1) // recipe.window)
        labels, first = {one.name: one.labels for one in team}, team[0].model
        super().__init__(labels, recipe, like=first, measure=measure, device=device)
        first_weights = members.stack([one.model for one in team])
        self.weights = {name: tensor.to(device) for name, tensor in first_weights.items()}
        state = stacked.initial_state(self.weights, self.shape, streams.shape[2])
        self.memory = dict(zip(stacked.state_names(self.shape), state, strict=False))
        if recipe.optimiser == "adamw":
            self.memory |= moments_of(self.weights)
        self.streams, self.seeds = streams.to(device), torch.tensor([m.seed for m in team])
        self.steps_per_epoch = (streams.shape[1] - 1) // recipe.window - recipe.shifted
        rates = [one.model.shape.dropout for one in team]
        self.dropout = torch.tensor(rates, device=device) if any(rates) else None
        threads = torch.get_num_threads() if device.type == "cpu" else 1
        count = min(len(team), threads)
        edges = [round(len(team) * k / count) for k in range(count + 1)]
        self.shares = [_Share(self, slice(*bounds)) for bounds in itertools.pairwise(edges)]

    def take(self, steps: int) -> None:
        """Take steps with every member, each share of them in a thread of its own."""
        if len(self.shares) == 1:
            self.shares[0].run(self.step, steps)
            return
        threads = torch.get_num_threads()

        def one_thread() -> None:
            torch.set_num_threads(1)

        try:
            with ThreadPoolExecutor(len(self.shares), initializer=one_thread) as pool:
                for done in [pool.submit(one.run, self.step, steps) for one in self.shares]:
                    done.result()
        finally:
            torch.set_num_threads(threads)

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go back to a state, in place: a captured graph stays valid."""
        super().restore(state)
        for share in self.shares:
            share.taken.fill_(self.step)

    def snapshot(self) -> Snapshot:
        """Stacked weights, named as in one model's state, with the members' names."""
        found = super().snapshot()
        found.metadata["members"] = json.dumps(self.names)
        if self.dropout is not None:
            found.metadata["dropout"] = json.dumps(self.dropout.tolist())
        return found


class _Share:
    """Steps of some of the members, in place, on views of the ensemble's tensors."""

    def __init__(self, whole: EnsembleLearner, mine: slice) -> None:
        self.recipe, self.device = whole.recipe, whole.device
        named = whole.weights.items()
        # `.data`: autograd must not see another share's changes to its slice as changes to this one
        self.weights = {name: tensor.data[mine].requires_grad_() for name, tensor in named}
        self.streams, self.seeds = whole.streams[mine], whole.seeds[mine].to(whole.device)
        self.shape, own = whole.shape, whole.memory.items()
        self.memory = {name: _narrow(name, tensor.data, mine) for name, tensor in own}
        self.state = [self.memory[name] for name in stacked.state_names(whole.shape)]
        self.before = stacked.initial_state(self.weights, whole.shape, self.streams.shape[2])
        self.dropout = None if whole.dropout is None else whole.dropout[mine]
        self.rate, self.loss_sum = whole.rate[mine], whole.loss_sum[mine]
        self.taken = torch.zeros((), dtype=torch.int64, device=self.device)
        self.steps_per_epoch = whole.steps_per_epoch
        self.schedule = Schedule(self.recipe, self.recipe.epochs * whole.steps_per_epoch)
        self._offsets = torch.arange(self.recipe.window + 1, device=self.device)
        self._step: Step | None = None

    def run(self, first: int, steps: int) -> None:
        """Take steps from number `first` on; the state is zero at the start of the data."""
        if self._step is None:
            mutable = [*self.memory.values(), self.taken, self.loss_sum]
            self._step = captured(self._one_step, [*self.weights.values(), *mutable], self.device)
        for step in range(first, first + steps):
            if step % self.steps_per_epoch == 0:
                for part in self.state:
                    part.zero_()
            self._step()

    def _one_step(self) -> None:
        """Fetch, read, differentiate, clip, update: everything stays on the device."""
        start = (self.taken % self.steps_per_epoch) * self.recipe.window
        if self.recipe.shifted:
            start = start + mix(self.taken // self.steps_per_epoch) % self.recipe.window
        tokens = self.streams.index_select(1, start + self._offsets).long()
        noise = None if self.dropout is None else Noise(self.dropout, self.seeds, self.taken)
        state = tuple(self.state) or self.before
        hidden, after = stacked.read(self.weights, self.shape, tokens[:, :-1], state, noise=noise)
        if noise is not None and self.recipe.output_dropout:
            hidden = noise.drop(hidden, OUTPUT)
        decode = members.decode_aligned if self.device.type == "cuda" else members.decode
        logits = decode(self.weights, hidden.flatten(1, 2))
        losses = members.mean_losses(logits, tokens[:, 1:].flatten(1, 2))
        gradients = torch.autograd.grad(losses.sum(), list(self.weights.values()))
        with torch.no_grad():
            self._update(gradients)
            for part, now in zip(self.state, after, strict=False):
                part.copy_(now)
            self.loss_sum.add_(losses)
            self.taken.add_(1)

    def _update(self, gradients: Sequence[Tensor]) -> None:
        """One step down, each member's gradients clipped separately."""
        scales = clip_scales(gradients, self.recipe.clip)
        if self.recipe.optimiser == "adamw":
            clipped = [g * scales.view(-1, *[1] * (g.dim() - 1)) for g in gradients]
            rate = self.schedule.rate(self.taken)
            step_adamw(self.weights, clipped, self.memory, (rate, self.taken), self.recipe)
            return
        scales = scales * self.rate
        for weight, gradient in zip(self.weights.values(), gradients, strict=True):
            by_member = scales.view(-1, *[1] * (weight.dim() - 1))
            weight.addcmul_(gradient, by_member, value=-1)


def member_state(state: Mapping[str, Tensor], index: int) -> dict[str, Tensor]:
    """The state of one member, as an ensemble of it alone has it."""
    return {
        name: tensor.narrow(_axis(name), index, 1).clone() if tensor.dim() else tensor
        for name, tensor in state.items()
    }


def join_states(states: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The state of an ensemble from those of its members, all after the same number of steps."""
    return {
        name: torch.cat([one[name] for one in states], _axis(name)) if tensor.dim() else tensor
        for name, tensor in states[0].items()
    }


def _narrow(name: str, tensor: Tensor, mine: slice) -> Tensor:
    return tensor[:, mine] if _axis(name) else tensor[mine]


def _axis(name: str) -> int:
    """The axis of members: recurrent states have that of layers before it."""
    return 1 if name in ("hidden", "cell") else 0


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


def _refuse_recipe(recipe: Recipe, like: AnyModel, windows: int) -> None:
    if recipe.output_dropout and not isinstance(like.shape, CausalShape):
        raise ConfigError("output_dropout is a Transformer's; others drop their outputs anyway")
    if recipe.shifted and windows < 2:
        raise ConfigError("shifted takes the text of two windows at least; use a smaller one")
