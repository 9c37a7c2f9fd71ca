"""What words contribute to gates and states, alone and together, where totals are known beforehand.

With T = A + B + C known from a plain run of the model only the relevant side A is to be carried.
What A contributes to tanh T, and what A and O contribute together beyond the sum of what each does:

    p(A)   = 1/2 [ tanh(C + A) - tanh C + tanh T - tanh(T - A) ]
           = 1/2 tanh A [ 2 - tanh C tanh(C + A) - tanh T tanh(T - A) ]
    J(A,O) = p(A + O) - p(A) - p(O)
           = 1/2 tanh A tanh O [ tanh(T-A) (1 - tanh T tanh(T-O))
                               + tanh(T-O) (1 - tanh(T-A) tanh(T-A-O))
                               - tanh(C+A) (1 - tanh C tanh(C+O))
                               - tanh(C+O) (1 - tanh(C+A) tanh(C+A+O)) ]

since tanh u - tanh v = tanh(u - v) (1 - tanh u tanh v), applied once and twice. So neither a small
contribution nor a small interaction is ever a difference: both keep their digits as they fade. What
enters a sigmoid is halved, as s(x) is (1 + tanh(x / 2)) / 2, so that the same holds for all gates;
the hidden state is o tanh(cell), where C = 0 and T is the cell. The output gate is not split.

Axes: N steps, S sentences, D input width, H units, gates i f g in 3H.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

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
    bias_parts: Float[Tensor, " three_H"]  # i_b f_b g_b

    @classmethod
    def of(cls, layer: LSTMLayer) -> PreparedLayer:
        """Made once a model."""
        width = 3 * layer.from_hidden.shape[-1]
        halved = torch.full_like(layer.bias[:width], 0.5)
        halved[width // 3 * 2 :] = 1
        from_input, from_hidden = layer.from_input.T, layer.from_hidden.T
        gate_bias = layer.bias[:width] * halved
        return cls(
            from_input=from_input,
            from_hidden=from_hidden.contiguous(),
            bias=layer.bias,
            halved=halved,
            input_to_gates=(from_input[:, :width] * halved).contiguous(),
            hidden_to_gates=(from_hidden[:, :width] * halved).contiguous(),
            gate_bias=gate_bias,
            bias_parts=torch.tanh(gate_bias) * halved + (1 - halved),
        )


class Squashed:
    """scale * tanh(T) at some steps, what O contributes to it, and all that words share.

    `bias` is C, None where it is zero.
    """

    def __init__(self, total: Tensor, own: Tensor, *, bias: Tensor | None, scale: Tensor) -> None:
        half, of_own, of_total = scale / 2, torch.tanh(own), torch.tanh(total)
        of_bias = torch.zeros_like(half) if bias is None else torch.tanh(bias)
        self._bias, self._total, self._half, self._scale = bias, total, half, scale
        self._with_own = own if bias is None else own + bias  # C + O
        self._without_own = total - own  # T - O
        near, far = torch.tanh(self._with_own), torch.tanh(self._without_own)
        self._bias_weight, self._total_weight = half * of_bias, half * of_total
        self.own = of_own * (scale - self._bias_weight * near - self._total_weight * far)
        # The factors of J in brackets, each times 1/2 tanh O
        weight = half * of_own
        self._near, self._far, self._rest = near * weight, far * weight, (far - near) * weight
        self._from_total = (1 - of_total * far) * weight
        self._from_bias = (of_bias * near - 1) * weight

    def steps(self) -> list[Squashed]:
        """The same at each step, as views."""
        apart = {
            name: value.unbind(0)
            for name, value in vars(self).items()
            if isinstance(value, Tensor) and value.ndim == 3
        }
        found = [copy(self) for _ in self._total]
        for name, values in apart.items():
            for one, value in zip(found, values, strict=True):
                setattr(one, name, value)
        return found

    def some(self, sentences: slice) -> Squashed:
        """The same of some sentences, as views."""
        found = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, Tensor) and value.ndim == 2:
                setattr(found, name, value[sentences])
        return found

    def parts(self, a: Tensor, extra: Tensor | None, spare: Tensor) -> tuple[Tensor, Tensor]:
        """p(A), and p(A + O + extra) - p(A) - p(O); of many words that share the step.

        Written into `spare`, which has 8 rows: new memory would cost as much again.
        """
        of_a, alone, together, near, far, both_far, rise, last = (
            row.view(a.shape) for row in spare[:, : a.numel()].unbind(0)
        )
        torch.tanh(a, out=of_a)
        torch.sub(self._total, a, out=far).tanh_()  # tanh(T - A)
        torch.addcmul(self._scale, far, self._total_weight, value=-1, out=alone)
        if self._bias is None:
            near = of_a
        else:
            torch.add(a, self._bias, out=near).tanh_()  # tanh(C + A)
            alone.addcmul_(near, self._bias_weight, value=-1)
        alone.mul_(of_a)
        torch.add(a, self._with_own, out=together).tanh_()
        torch.sub(self._without_own, a, out=both_far).tanh_()
        if extra is not None:
            # p(x + extra) - p(x) at x = A + O: p(extra) with C + x in place of C, T - x of T
            torch.add(a, extra, out=last)
            torch.add(last, self._with_own, out=rise).tanh_().mul_(together)
            torch.sub(self._without_own, last, out=last).tanh_()
            rise.addcmul_(last, both_far).sub_(2).mul_(torch.tanh(extra, out=last))
        torch.addcmul(self._from_bias, together, self._near, out=together)
        torch.addcmul(self._from_total, both_far, self._far, value=-1, out=both_far)
        torch.addcmul(self._rest, both_far, far, out=both_far)
        torch.addcmul(both_far, together, near, out=together).mul_(of_a)
        return alone, together if extra is None else together.addcmul_(rise, self._half, value=-1)


@dataclass(frozen=True)
class Step:
    """What the words of a sentence share at steps of one layer, for every sentence."""

    gates: Squashed
    own_gates: Gates  # what the step's word alone contributes to them, with the biases
    own_cell: Hidden
    cell: Squashed

    @classmethod
    def of(
        cls, layer: PreparedLayer, totals: Tensor, states: Sequence[LSTMStates], *, own: Gates
    ) -> Step:
        """From the sums that entered the gates, and what came of them; `own` is O."""
        total = totals[..., : len(layer.halved)] * layer.halved
        gates = Squashed(total, own, bias=layer.gate_bias, scale=layer.halved)
        own_gates = gates.own + layer.bias_parts
        i, _, g = own_gates.chunk(3, dim=-1)
        cells, outputs = (
            torch.stack([getattr(state, name) for state in states])
            for name in ("cell", "output_gate")
        )
        return cls(gates, own_gates, i * g, Squashed(cells, i * g, bias=None, scale=outputs))

    @property
    def own_hidden(self) -> Hidden:
        """What the step's word alone contributes to the hidden state."""
        return self.cell.own

    def steps(self) -> list[Step]:
        """Each of the steps, as views."""
        parts = (self.gates.steps(), self.own_gates, self.own_cell, self.cell.steps())
        return [Step(*one) for one in zip(*parts, strict=True)]

    def some(self, sentences: slice) -> Step:
        """The same of some sentences, as views."""
        gates, cell = self.gates.some(sentences), self.cell.some(sentences)
        return Step(gates, self.own_gates[sentences], self.own_cell[sentences], cell)
