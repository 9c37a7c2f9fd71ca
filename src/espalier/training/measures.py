"""Measures of language models during training: functions from stacked weights to rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from espalier.data import Examples, Reading, fold
from espalier.nets.language import stacked
from espalier.nets.lstm import LSTMShape, StackedWeights, members

GATES_AT_ONCE = 1 << 26  # numbers held for all members and steps of a chunk: 256 MiB

Measure = Callable[[StackedWeights, LSTMShape], list[dict[str, float]]]


@dataclass(frozen=True)
class CloseProbability:
    """Mean probability of the close symbol at the end of the scaffold, in and out of domain."""

    tokens: dict[str, Int[Tensor, "E N M"]]
    at: dict[str, Int[Tensor, "E M"]]
    close: int

    @classmethod
    def of(
        cls,
        sets: Mapping[Any, Sequence[Examples]],
        *,
        close: int,
        device: torch.device,
        reading: Reading = "before close",
    ) -> CloseProbability:
        """Test sets by name, each with the examples of every member."""
        tokens, at = {}, {}
        for name, tests in sets.items():
            stacked = np.stack([test.tokens.T for test in tests])
            tokens[name] = torch.from_numpy(stacked).long().to(device)
            steps = np.stack([one.open_at + one.tokens_read(reading) - 1 for one in tests])
            at[name] = torch.from_numpy(steps).to(device)
        return cls(tokens, at, close)

    def __call__(self, weights: StackedWeights, shape: LSTMShape) -> list[dict[str, float]]:
        """One row per member, with a column for each test set."""
        columns = {name: self._mean(weights, shape, name).tolist() for name in self.tokens}
        rows = zip(*columns.values(), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in rows]

    def _mean(self, weights: StackedWeights, shape: LSTMShape, name: str) -> Float[Tensor, " E"]:
        members_, length, _ = self.tokens[name].shape
        chunk = max(20, GATES_AT_ONCE // (members_ * length * 4 * shape.hidden))
        tokens = _split(self.tokens[name], chunk, 2)
        steps = _split(self.at[name], chunk, 1)
        found = [
            close_probabilities(weights, shape, some, at=at, close=self.close)
            for some, at in zip(tokens, steps, strict=True)
        ]
        return torch.cat(found, dim=1).mean(1)


def _split(tensor: Tensor, size: int, dim: int) -> list[Tensor]:
    return [
        tensor.narrow(dim, at, min(size, tensor.shape[dim] - at))
        for at in range(0, tensor.shape[dim], size)
    ]


@torch.no_grad()
def close_probabilities(
    weights: StackedWeights,
    shape: LSTMShape,
    tokens: Int[Tensor, "E N M"],
    *,
    at: Int[Tensor, "E M"],
    close: int,
) -> Float[Tensor, "E M"]:
    """P(close) by every member for each of its sequences, read at step `at` of the sequence."""
    state = stacked.initial_state(weights, shape, tokens.shape[2])
    hidden, _ = stacked.read(weights, shape, tokens, state)
    index = at[:, None, :, None].expand(-1, 1, -1, hidden.shape[-1])
    there = hidden.gather(1, index).squeeze(1)
    return torch.softmax(members.decode(weights, there), dim=-1)[..., close]


@dataclass(frozen=True)
class TextLoss:
    """Mean loss on held-out text, the state carried from its beginning to its end.

    A Transformer reads as many tokens before each window as fit into it.
    """

    tokens: Int[Tensor, "S B"]
    name: str = "valid"
    window: int = 35

    @classmethod
    def of(
        cls,
        stream: np.ndarray,
        device: torch.device,
        *,
        name: str = "valid",
        batch: int = 10,
        window: int = 35,
    ) -> TextLoss:
        """Held-out text in `batch` rows; a short text in fewer."""
        rows = max(1, min(batch, len(stream) // (window + 1)))
        window = min(window, len(stream) // rows - 1)
        folded = fold(stream, batch=rows, window=window)
        return cls(torch.from_numpy(folded).long().to(device), name, window)

    @torch.no_grad()
    def __call__(self, weights: StackedWeights, shape: LSTMShape) -> list[dict[str, float]]:
        """Loss in nats and perplexity by member."""
        size = len(weights["encoder.weight"])
        state = stacked.initial_state(weights, shape, self.tokens.shape[1])
        total = weights["encoder.weight"].new_zeros(size, dtype=torch.float64)
        count = (len(self.tokens) - 1) // self.window
        for k in range(count):
            place = slice(k * self.window, (k + 1) * self.window + 1)
            both = self.tokens[place].expand(size, -1, -1)
            hidden, state = stacked.read(weights, shape, both[:, :-1], state)
            logits = members.decode(weights, hidden.flatten(1, 2))
            total += members.mean_losses(logits, both[:, 1:].flatten(1, 2))
        losses = (total / count).tolist()
        return [
            {f"{self.name}_loss": loss, f"{self.name}_perplexity": math.exp(min(loss, 700.0))}
            for loss in losses
        ]
