"""The members of an ensemble that are computed together: views of its tensors, and one step.

On CUDA all members are one part. On a CPU there is a part for each thread: parts never wait for
each other, where threads inside small products would, step by step.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from espalier.nets import Noise
from espalier.nets.lstm import StackedWeights, members
from espalier.runs import Step, captured
from espalier.training.recipe import Recipe
from espalier.training.tracked import Tracked, clip_scales


@dataclass(frozen=True)
class Tensors:
    """Everything that a step reads and writes, for all members; a part has views of it."""

    weights: StackedWeights
    streams: Int[Tensor, "E S B"]
    hidden: Float[Tensor, "L E B H"]
    cell: Float[Tensor, "L E B H"]
    seeds: Int[Tensor, " E"]
    dropout: Float[Tensor, " E"] | None
    tracked: Tracked


class Part:
    """Steps of the members `lowest` to `highest`, in place."""

    def __init__(self, whole: Tensors, recipe: Recipe, *, lowest: int, highest: int) -> None:
        mine = slice(lowest, highest)
        self.recipe, self.device = recipe, whole.streams.device
        named = whole.weights.items()
        # `.data`: to autograd, what another part does to its own slice is no change of this one
        self.weights = {name: tensor.data[mine].requires_grad_() for name, tensor in named}
        self.streams, self.seeds = whole.streams[mine], whole.seeds[mine]
        self.hidden, self.cell = whole.hidden.data[:, mine], whole.cell.data[:, mine]
        self.dropout = None if whole.dropout is None else whole.dropout[mine]
        self.rate, self.loss_sum = whole.tracked.rate[mine], whole.tracked.loss_sum[mine]
        self.taken = torch.zeros((), dtype=torch.int64, device=self.device)
        self.steps_per_epoch = (self.streams.shape[1] - 1) // recipe.window
        self._offsets = torch.arange(recipe.window + 1, device=self.device)
        self._step: Step | None = None

    def run(self, first: int, steps: int) -> None:
        """Take steps from number `first` on; the state is zero at the head of the data."""
        if self._step is None:
            self._step = captured(self._one_step, self._mutable(), self.device)
        for step in range(first, first + steps):
            if step % self.steps_per_epoch == 0:
                self.hidden.zero_()
                self.cell.zero_()
            self._step()

    def _one_step(self) -> None:
        """Fetch, read, differentiate, clip, update: everything stays on the device."""
        start = (self.taken % self.steps_per_epoch) * self.recipe.window
        tokens = self.streams.index_select(1, start + self._offsets).long()
        noise = None if self.dropout is None else Noise(self.dropout, self.seeds, self.taken)
        state = (self.hidden, self.cell)
        hidden, (last, cell) = members.read(self.weights, tokens[:, :-1], state, noise=noise)
        decode = members.decode_aligned if self.device.type == "cuda" else members.decode
        logits = decode(self.weights, hidden.flatten(1, 2))
        losses = members.mean_losses(logits, tokens[:, 1:].flatten(1, 2))
        gradients = torch.autograd.grad(losses.sum(), list(self.weights.values()))
        with torch.no_grad():
            scales = clip_scales(gradients, self.recipe.clip) * self.rate
            for weight, gradient in zip(self.weights.values(), gradients, strict=True):
                by_member = scales.view(-1, *[1] * (weight.dim() - 1))
                weight.addcmul_(gradient, by_member, value=-1)
            self.hidden.copy_(last)
            self.cell.copy_(cell)
            self.loss_sum.add_(losses)
            self.taken.add_(1)

    def _mutable(self) -> list[Tensor]:
        """What a step changes."""
        return [*self.weights.values(), self.hidden, self.cell, self.taken, self.loss_sum]


def divide(whole: Tensors, recipe: Recipe) -> list[Part]:
    """All members in one part on CUDA; on a CPU a part of about the same size for each thread."""
    size = len(whole.streams)
    cpu = whole.streams.device.type == "cpu"
    count = min(size, torch.get_num_threads()) if cpu else 1
    edges = [round(size * k / count) for k in range(count + 1)]
    bounds = itertools.pairwise(edges)
    return [Part(whole, recipe, lowest=low, highest=high) for low, high in bounds]


def run_all(parts: Sequence[Part], first: int, steps: int) -> None:
    """Take steps in every part, each in a thread of its own if there are several."""
    if len(parts) == 1:
        parts[0].run(first, steps)
        return
    threads = torch.get_num_threads()

    def one_thread() -> None:
        torch.set_num_threads(1)

    try:
        with ThreadPoolExecutor(len(parts), initializer=one_thread) as pool:
            for done in [pool.submit(part.run, first, steps) for part in parts]:
                done.result()
    finally:
        torch.set_num_threads(threads)
