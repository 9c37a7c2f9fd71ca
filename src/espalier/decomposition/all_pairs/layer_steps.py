"""Steps of one layer of a plain run of the model, and what the words of its sentences share there.

Axes: N steps, S sentences, H units, gates i f g in 3H, and o in 4H.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from espalier.decomposition.all_pairs.gates import Squashed
from espalier.decomposition.all_pairs.weights import PreparedLayer, halved


class LayerSteps:
    """Memory for some steps of some sentences, with all views of it that are used.

    `own` is what the steps' words contribute: to the gates, with the biases; to f without, and
    zeros; to cell and hidden state; to i and g, without the biases.
    """

    def __init__(self, like: Tensor, shape: tuple[int, int, int]) -> None:
        steps, sentences, units = shape
        self._totals, self._sigmoids = like.new_zeros(2, steps, sentences, 4 * units).unbind(0)
        self._states = like.new_zeros(2, steps + 1, sentences, units)
        hidden, cells = self._states.unbind(0)
        self.hidden, self._cell = hidden[1:], cells[1:].unsqueeze(1)
        i, f, _, o = self._sigmoids.chunk(4, dim=-1)
        g, candidate = self._totals.chunk(4, dim=-1)[2], like.new_zeros(steps, sentences, units)
        parts = (self._totals, self._sigmoids, g, candidate, i, f, o)
        states = (hidden[:-1], self.hidden, cells[:-1], cells[1:])
        self._by_step = list(zip(*(one.unbind(0) for one in (*parts, *states)), strict=True))
        gates = like.new_zeros(4, steps, 1, sentences, 3 * units)
        self._total, self._entering, self._own_gates, own_forget = gates.unbind(0)
        self._scale, self._unscaled = halved(like, 3 * units), self._totals[..., : 3 * units]
        self.gates = Squashed(self._total, self._scale)
        self.cell = Squashed(self._cell, o.unsqueeze(1))
        self.own_cell, self.own_hidden = torch.zeros_like(self._cell), self.cell.own
        i_r, self._f_r, g_r = self.gates.own.chunk(3, dim=-1)
        self._own_i, _, self._own_g = self._own_gates.chunk(3, dim=-1)
        self._own_f = own_forget.chunk(3, dim=-1)[1]
        self.own = (self._own_gates, own_forget, self.own_cell, self.own_hidden, i_r, g_r)

    def run(
        self,
        layer: PreparedLayer,
        projected: Float[Tensor, "n S four_H"],
        own: Float[Tensor, "n S three_H"] | None,
        state: Float[Tensor, "2 S H"],
    ) -> Float[Tensor, "n S H"]:
        """Hidden states from input weights times input; the state is advanced.

        `own` is what the steps' words bring into the gates, halved: by default all that enters.
        """
        steps = len(projected)
        torch.add(projected, layer.bias, out=self._totals[:steps])
        self._states[:, 0] = state
        for each in self._by_step[:steps]:
            totals, sigmoids, g, candidate, i, f, o, hidden, after, cell, new = each
            totals.addmm_(hidden, layer.from_hidden)
            torch.sigmoid(totals, out=sigmoids)
            torch.tanh(g, out=candidate)
            torch.mul(f, cell, out=new).addcmul_(i, candidate)
            torch.tanh(new, out=after).mul_(o)
        state.copy_(self._states[:, steps])
        if own is None:
            own = projected[..., : len(self._scale)] * self._scale
        self._entering[:steps, 0] = own
        torch.mul(self._unscaled, self._scale, out=self._total[:, 0])
        self.gates.share(self._total, self._entering, layer.gate_bias)
        torch.add(self.gates.own, layer.bias_parts, out=self._own_gates)
        self._own_f.copy_(self._f_r)
        torch.mul(self._own_i, self._own_g, out=self.own_cell)
        self.cell.share(self._cell, self.own_cell, None)
        return self.hidden[:steps]
