"""What the words of a rule contribute to its close symbol, for many models at once.

Everything is read at the last scaffold token, the step that predicts the close symbol, or where
`reading` says so one step later, after the close symbol, which is in no focus. Relevant
parts are zero before the first word in focus, so a decomposition starts at the open symbol, from
the true state before it; an initial state is irrelevant, like everything read before it.

Axes: E members, M test sequences, K places of a rule from the open symbol (0) to the step that
is read, D embedding, H units, L layers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from espalier.data import Examples, Reading
from espalier.decomposition import propagate
from espalier.nets.lstm import (
    LSTMLayer,
    LSTMShape,
    StackedState,
    StackedWeights,
    members,
    stacked_layers,
    unroll,
)
from espalier.runs import matmul_precision


@dataclass(frozen=True)
class Contributions(ABC):
    """Members before the rules of their test sequences, whatever their architecture."""

    decoder: Float[Tensor, "E V H"]
    close: int
    length: int  # tokens of the scaffold

    @abstractmethod
    def contribution(self, places: Sequence[int]) -> Float[Tensor, "E M H"]:
        """What these places contribute to the hidden state at the step that is read."""

    def logits(self, part: Float[Tensor, "E M H"]) -> Float[Tensor, "E M V"]:
        """The logits of a part of the hidden state; the decoder's bias belongs to no part."""
        with matmul_precision("float32"):
            return part @ self.decoder.mT

    def close_probability(self, places: Sequence[int]) -> list[float]:
        """P(close | these places alone), softmax(W h), the mean over sequences by member."""
        every = torch.softmax(self.logits(self.contribution(places)), dim=-1)
        found: list[float] = every[..., self.close].double().mean(1).tolist()
        return found

    def interdependence(self) -> dict[str, list[float]]:
        """DI(open symbol, scaffold) of hidden states and of logits, means by member."""
        scaffold = range(1, self.length + 1)
        alone, rest = self.contribution([0]), self.contribution(scaffold)
        together = self.contribution([0, *scaffold])
        parts = (together, alone, rest)
        return {
            "hidden": _mean_ratio(*parts),
            "logits": _mean_ratio(*(self.logits(part) for part in parts)),
        }


@dataclass(frozen=True)
class RuleContributions(Contributions):
    """LSTMs before the rules of their test sequences."""

    layers: list[LSTMLayer]
    inputs: Float[Tensor, "E M K D"]
    state: StackedState

    @classmethod
    def of(
        cls,
        weights: StackedWeights,
        shape: LSTMShape,
        examples: Sequence[Examples],
        *,
        close: int,
        reading: Reading = "before close",
    ) -> RuleContributions:
        """Each member before the open symbols of its own test set, all of one scaffold length."""
        device = weights["encoder.weight"].device
        tokens = torch.from_numpy(np.stack([one.tokens for one in examples])).long().to(device)
        open_at = torch.from_numpy(np.stack([one.open_at for one in examples])).to(device)
        read = examples[0].tokens_read(reading)
        places = open_at[..., None] + torch.arange(read, device=device)
        return cls(
            layers=stacked_layers(weights),
            inputs=members.look_up(weights["encoder.weight"], tokens.gather(2, places)),
            state=states_before(weights, shape, tokens, at=open_at),
            decoder=weights.get("decoder.weight", weights["encoder.weight"]),
            close=close,
            length=examples[0].length,
        )

    def contribution(self, places: Sequence[int]) -> Float[Tensor, "E M H"]:
        """What these places contribute to the hidden state at the step that is read."""
        focus = torch.zeros(self.inputs.shape[:3], dtype=torch.bool, device=self.inputs.device)
        focus[..., list(places)] = True
        with matmul_precision("float32"):
            return propagate(self.layers, self.inputs, focus, state=self.state).relevant[:, :, -1]


def _mean_ratio(together: Tensor, alone: Tensor, rest: Tensor) -> list[float]:
    """The mean over sequences of |together - (alone + rest)| / |together|."""
    ratios = (together - (alone + rest)).norm(dim=-1) / together.norm(dim=-1)
    found: list[float] = ratios.double().mean(1).tolist()
    return found


@torch.no_grad()
def states_before(
    weights: StackedWeights,
    shape: LSTMShape,
    tokens: Int[Tensor, "E M N"],
    *,
    at: Int[Tensor, "E M"],
) -> StackedState:
    """Hidden and cell states of every layer before step `at` of each sequence, from zero."""
    below = members.look_up(weights["encoder.weight"], tokens.transpose(1, 2))
    zeros = below.new_zeros(*tokens.shape[:2], shape.hidden)
    hiddens, cells = [], []
    for layer in stacked_layers(weights):
        then, above = [zeros, zeros], []
        with matmul_precision("float32"):
            projected = members.project(layer, below).unbind(1)
            for t, step in enumerate(unroll(projected, layer.from_hidden, (zeros, zeros)), start=1):
                here, now = (at == t).unsqueeze(-1), (step.hidden, step.cell)
                then = [torch.where(here, *pair) for pair in zip(now, then, strict=True)]
                above.append(step.hidden)
        below = torch.stack(above, dim=1)
        hiddens.append(then[0])
        cells.append(then[1])
    return torch.stack(hiddens), torch.stack(cells)
