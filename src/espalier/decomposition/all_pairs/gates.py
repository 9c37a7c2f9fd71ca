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
    input_to_gates: Float[Tensor, "_ three_H"]
    hidden_to_gates: Float[Tensor, "H three_H"]
    gate_bias: Float[Tensor, " three_H"]  # C
    bias_parts: Float[Tensor, " three_H"]  # i_b f_b g_b

    @classmethod
    def of(cls, layer: LSTMLayer, *, first: bool) -> PreparedLayer:
        """Made once a model; what is first hands nothing up to its own gates."""
        width = 3 * layer.from_hidden.shape[-1]
        halved = torch.full_like(layer.bias[:width], 0.5)
        halved[width // 3 * 2 :] = 1
        from_input, from_hidden = layer.from_input.T, layer.from_hidden.T
        above = from_input[:0] if first else from_input
        gate_bias = layer.bias[:width] * halved
        return cls(
            from_input=from_input,
            from_hidden=from_hidden,
            bias=layer.bias,
            halved=halved,
            input_to_gates=_scaled(above[:, :width], halved),
            hidden_to_gates=_scaled(from_hidden[:, :width], halved),
            gate_bias=gate_bias,
            bias_parts=torch.tanh(gate_bias) * halved + (1 - halved),
        )


def _scaled(weights: Float[Tensor, "D W"], scale: Float[Tensor, " W"]) -> Tensor:
    """Columns scaled, and rows in memory one after the other: faster where vectors are few."""
    return torch.mul(weights, scale, out=weights.new_empty(weights.shape))


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

    def some(self, steps: slice, sentences: slice) -> Squashed:
        """The same at some steps of some sentences, as views, with an axis for words: K 1 S W."""
        found, first, count = copy(self), steps.start, steps.stop - steps.start
        every = sentences == slice(0, self.own.shape[1])
        for name, value in vars(self).items():
            if isinstance(value, Tensor) and value.ndim == 3:
                own = value.narrow(0, first, count)
                setattr(found, name, (own if every else own[:, sentences]).unsqueeze(1))
        return found

    def alone(self, step: int, a: Tensor, spare: Sequence[Tensor]) -> Tensor:
        """p(A) of many words at a step; `spare` is written: tanh A, p(A), tanh(C+A), tanh(T-A)."""
        of_a, found, near, far = spare
        scale = self._scale[step] if self._scale.ndim > 1 else self._scale
        torch.tanh(a, out=of_a)
        torch.sub(self._total[step], a, out=far).tanh_()
        torch.addcmul(scale, far, self._total_weight[step], value=-1, out=found)
        if self._bias is not None:
            torch.add(a, self._bias, out=near).tanh_()
            found.addcmul_(near, self._bias_weight, value=-1)
        return found.mul_(of_a)

    def together(self, a: Tensor, extra: Tensor | None, spare: Tensor) -> Tensor:
        """p(A + O + extra) - p(A) - p(O) of many words at all steps, after `alone` at each.

        Written into `spare`: new memory would cost as much again.
        """
        of_a, _, near, far, both_near, both_far, rise, last = spare.unbind(0)
        near = of_a if self._bias is None else near
        torch.add(a, self._with_own, out=both_near).tanh_()
        torch.sub(self._without_own, a, out=both_far).tanh_()
        if extra is not None:
            # p(x + extra) - p(x) at x = A + O: p(extra) with C + x in place of C, T - x of T
            torch.add(a, extra, out=last)
            torch.add(last, self._with_own, out=rise).tanh_().mul_(both_near)
            torch.sub(self._without_own, last, out=last).tanh_()
            rise.addcmul_(last, both_far).sub_(2).mul_(torch.tanh(extra, out=last))
        torch.addcmul(self._from_bias, both_near, self._near, out=both_near)
        torch.addcmul(self._from_total, both_far, self._far, value=-1, out=both_far)
        torch.addcmul(self._rest, both_far, far, out=both_far)
        found = torch.addcmul(both_far, both_near, near, out=both_near).mul_(of_a)
        return found if extra is None else found.addcmul_(rise, self._half, value=-1)


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

    def some(self, steps: slice, sentences: slice) -> Step:
        """Some of the steps of some sentences, as views, with an axis for words: K 1 S W."""
        own = (part[steps, sentences].unsqueeze(1) for part in (self.own_gates, self.own_cell))
        own_gates, own_cell = own
        gates, cell = self.gates.some(steps, sentences), self.cell.some(steps, sentences)
        return Step(gates, own_gates, own_cell, cell)
