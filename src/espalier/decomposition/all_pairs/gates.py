"""What a word contributes to gates and hidden state, where their totals are known beforehand.

With T = A + B + C known from a plain run of the model only the relevant side A is to be carried:

    tanh:  1/2 [ tanh(C + A) - tanh C + tanh T - tanh(T - A) ]
               = 1/2 tanh A [ 2 - tanh C tanh(C + A) - tanh T tanh(T - A) ]

since tanh u - tanh v = tanh(u - v) (1 - tanh u tanh v). So a small contribution keeps its digits:
it is a product with tanh A, not a difference. What enters a sigmoid is halved, as s(x) is
(1 + tanh(x / 2)) / 2, so that the same holds for all gates. The output gate is not split: gates are
i f g in 3H.

Axes: S sentences, D input width, H units.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from jaxtyping import Float
from torch import Tensor

from espalier.nets.lstm import LSTMLayer, LSTMStates

Gates = Float[Tensor, "*R S three_H"]
Hidden = Float[Tensor, "*R S H"]


@dataclass(frozen=True)
class PreparedLayer:
    """A layer's weights as products use them; those of the gates i f g as tanh takes them."""

    from_input: Float[Tensor, "D four_H"]
    from_hidden: Float[Tensor, "H four_H"]
    bias: Float[Tensor, " four_H"]
    halved: Float[Tensor, " three_H"]  # 1/2 for i and f, 1 for g
    input_to_gates: Float[Tensor, "D three_H"]
    hidden_to_gates: Float[Tensor, "H three_H"]
    gate_bias: Float[Tensor, " three_H"]  # C
    bias_weight: Float[Tensor, " three_H"]  # 1/2 tanh C, a half of that for sigmoids
    bias_parts: Float[Tensor, " three_H"]  # i_b f_b g_b

    @classmethod
    def of(cls, layer: LSTMLayer) -> PreparedLayer:
        """Made once a model."""
        width = 3 * layer.from_hidden.shape[-1]
        halved = torch.full_like(layer.bias[:width], 0.5)
        halved[width // 3 * 2 :] = 1
        from_input, from_hidden = layer.from_input.T, layer.from_hidden.T
        gate_bias = layer.bias[:width] * halved
        squashed = torch.tanh(gate_bias) * halved
        return cls(
            from_input=from_input.contiguous(),
            from_hidden=from_hidden.contiguous(),
            bias=layer.bias,
            halved=halved,
            input_to_gates=(from_input[:, :width] * halved).contiguous(),
            hidden_to_gates=(from_hidden[:, :width] * halved).contiguous(),
            gate_bias=gate_bias,
            bias_weight=squashed / 2,
            bias_parts=squashed + (1 - halved),
        )


@dataclass(frozen=True)
class Step:
    """What the words of a sentence share at one step of one layer, for every sentence."""

    total: Gates  # T
    total_weight: Gates  # 1/2 tanh T, a half of that for sigmoids
    cell: Hidden
    output_gate: Hidden
    output_weight: Hidden  # half the hidden state
    own: Gates  # A of the step's word alone
    own_cell: Hidden  # what that word alone contributes
    own_hidden: Hidden

    @classmethod
    def of(cls, layer: PreparedLayer, totals: Tensor, states: LSTMStates, *, own: Gates) -> Step:
        """From the sums that entered the gates, and what came of them."""
        total = totals[:, : len(layer.halved)] * layer.halved
        shared = (
            total,
            torch.tanh(total).mul_(layer.halved / 2),
            states.cell,
            states.output_gate,
            states.hidden / 2,
        )
        step = cls(*shared, own, states.cell, states.hidden)
        parts = step.gate_contributions(layer, own.clone(), onto=layer.bias_parts)
        i, _, g = parts.chunk(3, dim=-1)
        return cls(*shared, own, i * g, step.hidden_contributions(i * g))

    def some(self, sentences: slice) -> Step:
        """The same of some sentences, as views."""
        return Step(*(getattr(self, field.name)[sentences] for field in fields(self)))

    def gate_contributions(self, layer: PreparedLayer, a: Gates, *, onto: Tensor) -> Gates:
        """What A contributes to the gates, added to `onto`; A is used up."""
        factor = torch.add(a, layer.gate_bias).tanh_()
        torch.addcmul(layer.halved, factor, layer.bias_weight, value=-1, out=factor)
        from_total = torch.sub(self.total, a).tanh_()
        factor.addcmul_(from_total, self.total_weight, value=-1)
        return torch.addcmul(onto, a.tanh_(), factor, out=a)

    def hidden_contributions(self, cell: Hidden) -> Hidden:
        """What relevant parts of the cell contribute to the hidden state: there C = 0, T = cell."""
        factor = torch.sub(self.cell, cell).tanh_()
        torch.addcmul(self.output_gate, factor, self.output_weight, value=-1, out=factor)
        return factor.mul_(torch.tanh(cell))
