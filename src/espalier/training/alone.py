"""One language model trained by itself, forward and backward by `nn.LSTM`.

The plain reading of the recipe: what an ensemble's member must equal, and the way to train one
model. Dropout draws from a generator state that belongs to the run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional

from espalier.nets.lstm import LanguageModel
from espalier.runs import Row, Snapshot, matmul_precision
from espalier.training.measures import Measure
from espalier.training.recipe import Recipe
from espalier.training.tracked import Tracked, clip_scales


class Alone:
    """A learner of one model; `stream` holds its tokens, (S, B)."""

    def __init__(
        self,
        model: LanguageModel,
        stream: Int[Tensor, "S B"],
        recipe: Recipe,
        *,
        measure: Measure,
        device: torch.device,
        name: str = "model",
        seed: int = 0,
    ) -> None:
        self.model, self.recipe, self.device, self.tests = model.to(device), recipe, device, measure
        self.stream = stream.T.contiguous().to(device)  # (B, S)
        self.tracked = Tracked(recipe, {name: {}}, device=device)
        self.hidden, self.cell = model.initial_state(len(self.stream))
        self._step = 0
        self._devices = [device] if device.type == "cuda" else []
        with torch.random.fork_rng(self._devices):
            torch.manual_seed(seed)
            self._generators = self._drawn_from()

    @property
    def step(self) -> int:
        """Steps taken so far."""
        return self._step

    @property
    def steps_per_epoch(self) -> int:
        """Whole windows in a row."""
        return (self.stream.shape[1] - 1) // self.recipe.window

    @property
    def finished(self) -> bool:
        """Whether annealing has come to its end."""
        return self.tracked.finished

    def advance(self, steps: int) -> None:
        """Take steps; the hidden state starts from zero at the head of the data."""
        self.model.train()
        with matmul_precision(self.recipe.precision), torch.random.fork_rng(self._devices):
            self._draw_from(self._generators)
            for _ in range(steps):
                if self._step % self.steps_per_epoch == 0:
                    self.hidden.zero_()
                    self.cell.zero_()
                self._one_step()
            self._generators = self._drawn_from()
        self.tracked.loss_count += steps
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def _one_step(self) -> None:
        window = self.recipe.window
        start = self._step % self.steps_per_epoch * window
        tokens = self.stream[:, start : start + window + 1].long()
        logits, (hidden, cell) = self.model(tokens[:, :-1], (self.hidden, self.cell))
        loss = functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        parameters: list[Tensor] = list(self.model.parameters())
        gradients = torch.autograd.grad(loss, parameters)
        scales = clip_scales([gradient[None] for gradient in gradients], self.recipe.clip)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.addcmul_(gradient, scales * self.tracked.rate, value=-1)
        self.hidden, self.cell = hidden.detach(), cell.detach()
        self.tracked.loss_sum += loss.detach()
        self._step += 1

    def measure(self) -> list[Row]:
        """One row."""
        stacked = {name: p.detach()[None] for name, p in self.model.named_parameters()}
        with matmul_precision(self.recipe.precision), torch.no_grad():
            return self.tracked.rows(self.tests(stacked, self.model.shape))

    def end_epoch(self, rows: Sequence[Row]) -> None:
        """Anneal by the validation loss."""
        self.tracked.anneal(rows)

    def state(self) -> dict[str, Tensor]:
        """Everything that later steps depend on, the generators included."""
        weights = {f"weights.{name}": p for name, p in self.model.named_parameters()}
        mine = weights | {"hidden": self.hidden, "cell": self.cell}
        copies = {name: tensor.detach().to("cpu", copy=True) for name, tensor in mine.items()}
        generators = {f"generator.{k}": state for k, state in enumerate(self._generators)}
        return copies | self.tracked.state() | generators | {"taken": torch.tensor(self._step)}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go back to a state."""
        with torch.no_grad():
            for name, parameter in self.model.named_parameters():
                parameter.copy_(state[f"weights.{name}"])
            self.hidden = state["hidden"].to(self.device, copy=True)
            self.cell = state["cell"].to(self.device, copy=True)
        self._step = int(state["taken"])
        self._generators = [state[f"generator.{k}"] for k in range(len(self._generators))]
        self.tracked.restore(state)

    def snapshot(self) -> Snapshot:
        """The weights, tied ones once, with what is needed to rebuild the model."""
        named = dict(self.model.named_parameters())
        tensors = {name: tensor.detach().to("cpu", copy=True) for name, tensor in named.items()}
        metadata = {"shape": json.dumps(self.model.shape.to_dict())}
        if self.model.vocabulary is not None:
            metadata |= self.model.vocabulary.to_metadata()
        return Snapshot(tensors, metadata)

    def _drawn_from(self) -> list[Tensor]:
        """The generators' states now: the CPU's, then the device's."""
        return [torch.get_rng_state(), *(torch.cuda.get_rng_state(d) for d in self._devices)]

    def _draw_from(self, states: Sequence[Tensor]) -> None:
        torch.set_rng_state(states[0])
        for device, state in zip(self._devices, states[1:], strict=True):
            torch.cuda.set_rng_state(state, device)
