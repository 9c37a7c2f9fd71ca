"""One language model trained alone, forward and backward by `nn.LSTM`.

The plain implementation of the recipe: an ensemble's member must equal it, and one model is trained
by it. Dropout draws from a generator state that belongs to the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional

from espalier.nets.lstm import LanguageModel, StackedWeights
from espalier.training.configs import Recipe
from espalier.training.lstm_learner import LSTMLearner, clip_scales
from espalier.training.measures import Measure


class SingleLearner(LSTMLearner):
    """A learner of one model; `stream` holds its tokens, (S, B)."""

    def __init__(
        self,
        model: LanguageModel,
        stream: Int[Tensor, "S B"],
        recipe: Recipe,
        *,
        measure: Measure,
        device: torch.device,
        seed: int = 0,
    ) -> None:
        super().__init__({"model": {}}, recipe, like=model, measure=measure, device=device)
        self.model = model.to(device)
        self.weights = dict[str, Tensor](model.named_parameters())
        self.stream = stream.T.contiguous().to(device)  # (B, S)
        self.steps_per_epoch = (self.stream.shape[1] - 1) // recipe.window
        hidden, cell = model.initial_state(len(self.stream))
        self.memory = {"hidden": hidden, "cell": cell}
        self._devices = [device] if device.type == "cuda" else []
        with torch.random.fork_rng(self._devices):
            torch.manual_seed(seed)
            self._generators = self._generator_states()

    def stacked(self) -> StackedWeights:
        """The weights with a first axis of one member."""
        return {name: parameter.detach()[None] for name, parameter in self.weights.items()}

    def take(self, steps: int) -> None:
        """Take steps; the hidden state starts from zero at the start of the data."""
        self.model.train()
        with torch.random.fork_rng(self._devices):
            self._set_generators(self._generators)
            for step in range(self.step, self.step + steps):
                if step % self.steps_per_epoch == 0:
                    self.memory["hidden"].zero_()
                    self.memory["cell"].zero_()
                self._one_step(step % self.steps_per_epoch * self.recipe.window)
            self._generators = self._generator_states()

    def _one_step(self, start: int) -> None:
        tokens = self.stream[:, start : start + self.recipe.window + 1].long()
        state = (self.memory["hidden"], self.memory["cell"])
        logits, (hidden, cell) = self.model(tokens[:, :-1], state)
        loss = functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        gradients = torch.autograd.grad(loss, list(self.weights.values()))
        scales = clip_scales([gradient[None] for gradient in gradients], self.recipe.clip)
        with torch.no_grad():
            for parameter, gradient in zip(self.weights.values(), gradients, strict=True):
                parameter.addcmul_(gradient, scales * self.rate, value=-1)
        self.memory = {"hidden": hidden.detach(), "cell": cell.detach()}
        self.loss_sum += loss.detach()

    def state(self) -> dict[str, Tensor]:
        """Everything that later steps depend on, the generators included."""
        generators = {f"generator.{k}": state for k, state in enumerate(self._generators)}
        return super().state() | generators

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go back to a state."""
        super().restore(state)
        self._generators = [state[f"generator.{k}"] for k in range(len(self._generators))]

    def _generator_states(self) -> list[Tensor]:
        """Of the CPU, then of the device."""
        return [torch.get_rng_state(), *(torch.cuda.get_rng_state(d) for d in self._devices)]

    def _set_generators(self, states: Sequence[Tensor]) -> None:
        torch.set_rng_state(states[0])
        for device, state in zip(self._devices, states[1:], strict=True):
            torch.cuda.set_rng_state(state, device)
