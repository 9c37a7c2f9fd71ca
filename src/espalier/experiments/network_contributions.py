"""What the words of a rule contribute to its close symbol in GRUs and Transformers.

As in `rule_contributions`, everything is read at one step of a rule. A GRU is decomposed from the
open symbol on, starting with its true state before it; a Transformer, which has none, over the
whole sequence. Axes as there; N tokens of a test sequence, S focus sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from espalier.data import Examples, Reading
from espalier.decomposition import relevant_rows
from espalier.experiments.rule_contributions import Contributions, RuleContributions
from espalier.nets.language import CausalShape, GRUShape, stacked
from espalier.nets.lstm import LSTMShape, StackedWeights, members
from espalier.networks import Body, member_body
from espalier.runs import matmul_precision


def contributions_of(
    weights: StackedWeights,
    shape: LSTMShape,
    examples: Sequence[Examples],
    *,
    close: int,
    reading: Reading = "before close",
) -> Contributions:
    """Each member before the open symbols of its own test set, all of one scaffold length."""
    other = isinstance(shape, GRUShape | CausalShape)
    kind = NetworkContributions if other else RuleContributions
    return kind.of(weights, shape, examples, close=close, reading=reading)


@dataclass(frozen=True)
class NetworkContributions(Contributions):
    """GRUs or Transformers and the vectors that enter their bodies; `rule` has its places."""

    bodies: list[Body]
    inputs: Float[Tensor, "E M N D"]
    rule: Int[Tensor, "E M K"]  # among the N places of a sequence
    state: Float[Tensor, "L E M H"] | None

    @classmethod
    @torch.no_grad()
    def of(
        cls,
        weights: StackedWeights,
        shape: LSTMShape,
        examples: Sequence[Examples],
        *,
        close: int,
        reading: Reading = "before close",
    ) -> NetworkContributions:
        """Each member before the open symbols of its own test set."""
        table = weights["encoder.weight"]
        tokens = torch.from_numpy(np.stack([one.tokens for one in examples])).long()
        open_at = torch.from_numpy(np.stack([one.open_at for one in examples])).long()
        tokens, open_at = tokens.to(table.device), open_at.to(table.device)
        places = torch.arange(examples[0].tokens_read(reading), device=table.device)
        rule = open_at[..., None] + places
        state: Tensor | None = None
        if isinstance(shape, CausalShape):
            inputs = stacked.inputs_of(weights, shape, members.look_up(table, tokens))
        else:
            inputs = members.look_up(table, tokens.gather(2, rule))
            state, rule = (
                gru_states_before(weights, shape, tokens, at=open_at),
                places.expand_as(rule),
            )
        return cls(
            decoder=weights.get("decoder.weight", table),
            close=close,
            length=examples[0].length,
            bodies=[member_body(weights, shape, index) for index in range(len(table))],
            inputs=inputs,
            rule=rule,
            state=state,
        )

    def contribution(self, places: Sequence[int]) -> Float[Tensor, "E M H"]:
        """What these places contribute to the hidden state at the step that is read."""
        focus = torch.zeros(self.inputs.shape[:3], dtype=torch.bool, device=self.inputs.device)
        focus.scatter_(2, self.rule[..., list(places)], value=True)
        found = []
        with matmul_precision("float32"):
            for index, body in enumerate(self.bodies):
                before = None if self.state is None else self.state[:, index]
                rows = relevant_rows(body, self.inputs[index], focus[None, index], state=before)[0]
                last = self.rule[index, :, -1, None, None].expand(-1, 1, rows.shape[-1])
                found.append(rows.gather(1, last).squeeze(1))
        return torch.stack(found)


def gru_states_before(
    weights: StackedWeights,
    shape: LSTMShape,
    tokens: Int[Tensor, "E M N"],
    *,
    at: Int[Tensor, "E M"],
) -> Float[Tensor, "L E M H"]:
    """Hidden states of every layer before step `at` of each sequence, from zero."""
    with matmul_precision("float32"):
        layers = stacked.gru_layers(weights, shape, tokens.transpose(1, 2))
    found = []
    for hidden in layers:  # (E, N, M, H)
        behind = torch.cat([torch.zeros_like(hidden[:, :1]), hidden], dim=1)
        index = at[:, None, :, None].expand(-1, 1, -1, hidden.shape[-1])
        found.append(behind.gather(1, index).squeeze(1))
    return torch.stack(found)
