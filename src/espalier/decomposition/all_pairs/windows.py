"""Words taken through some steps of a layer together.

A sentence alone is little arithmetic: making a view of memory takes as long as the operation on it.
So all views are made once, and a window may be used again.

Axes: K steps, J tanhs, l words, S sentences, H units, gates i f g in 3H.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from espalier.decomposition.all_pairs.gates import Tanhs
from espalier.decomposition.all_pairs.layer_steps import LayerSteps
from espalier.decomposition.all_pairs.weights import PreparedLayer

Hidden = Float[Tensor, "K l S H"]


class Shape(NamedTuple):
    """Steps `first` to `last` of the first of `sentences`, for so many words of each.

    `born` is that whose own step is the first of them, counted from the first of the words; None
    if there is no step of a word's own.
    """

    first: int
    last: int
    words: int
    sentences: int
    born: int | None

    def parts(self, units: int, *, above: bool) -> list[tuple[int, ...]]:
        """Shapes of what a window holds: gates, contributions to them, cells, states, results."""
        steps, rows = self.last - self.first, (self.words, self.sentences)
        return [
            (steps, 8 if above else 5, *rows, 3 * units),
            (steps, *rows, 3 * units),
            (steps, 7, *rows, units),
            (2, steps + 1, *rows, units),
            (2, steps, *rows, units),
        ]


class Window:
    """Words at some steps of a layer; `before` is where they come from, `after` where they are."""

    def __init__(
        self, shape: Shape, layer: LayerSteps, memory: Float[Tensor, " _"], *, above: bool
    ) -> None:
        parts = shape.parts(layer.own_cell.shape[-1], above=above)
        sizes = [prod(part) for part in parts]
        gates, alone, cells, states, self.found = (
            one.view(part)
            for one, part in zip(memory[: sum(sizes)].split(sizes), parts, strict=True)
        )
        steps = slice(shape.first, shape.last)
        self._gates = Tanhs(gates, layer.gates, steps, biased=True)
        self._cells = Tanhs(cells, layer.cell, steps, biased=False)
        self.before, self.after = states[:, 0], states[:, -1]
        self.apart, self._joint = self.found.unbind(0)
        hidden, cell = states.unbind(0)
        self.hidden, self._old, new = hidden[1:], cell[:-1], cell[1:]
        self._alone, self._new, self._both = alone, new.unsqueeze(1), self._gates.spare
        self._i, self._f, self._g = alone.chunk(3, dim=-1)
        self._i_both, self._f_both, self._g_both = self._both.chunk(3, dim=-1)
        own_gates, own_forget, own_cell, own_hidden, i_r, g_r = (
            one[steps, :, : shape.sentences] for one in layer.own
        )
        self._own_gates, self._own_forget, self._own_hidden = own_gates, own_forget, own_hidden
        self._i_r, self._g_r = i_r, g_r
        fresh = own_cell.new_zeros(()).expand_as(new)
        self._fresh = fresh[:0, 0], own_cell[:0, 0]
        if shape.born is not None:
            fresh = torch.zeros_like(new)
            diagonal = fresh.diagonal(shape.born, 0, 1).movedim(-1, 0)
            self._fresh = diagonal, own_cell[max(0, -shape.born) :, 0][: len(diagonal)]
        tanhs, cell_tanhs = gates[:, :3] if above else gates, cells[:, :2]
        product = (hidden[:-1].flatten(1, 2), gates[:, 0].flatten(1, 2), gates[:, 0])
        squashed = (gates[:, 1:5], self._gates.shifts, tanhs, self._gates.near, self._gates.far)
        contributions = (self._gates.total_weight, alone, self._i, self._f, self._g)
        of_cell = (fresh, self._old, new, self._cells.shifts[:, :2], cell_tanhs, cells[:, 0])
        output = (cells[:, 1], self._cells.scale, self._cells.total_weight, self.hidden)
        self._gates_by_step = _by_step(*product, *squashed, *contributions)
        self._cells_by_step = _by_step(*of_cell, *output)

    def through(self, layer: PreparedLayer, below: tuple[Hidden, Hidden] | None) -> None:
        """What {l} contributes to the hidden state, and `apart` what {l, r} adds, at every step.

        `below` is both of the layer below. With J for what {l, r} contributes to a gate beyond {l}
        and {r}, and K to the cell:

            c_l' = i_l (g_l + g_b) + i_b g_l + (f_l + f_b) c_l
            K    = i_l g_r + i_r g_l + J_i (g_l + g_r + g_b + J_g) + (i_l + i_r + i_b) J_g
                   + (f_r + J_f) c_l
        """
        fresh, own_cell = self._fresh
        if below is None:
            fresh.copy_(own_cell)
            self._each_alone(layer, [None] * len(self._gates_by_step))
        else:
            fresh.copy_(layer.bias_product)
            self._each_alone(layer, (below[0] @ layer.input_to_gates).unbind(0))
            self._gates.extra.copy_(below[1] @ layer.input_to_gates)
            self._gates.extend()
        self._gates.together(self._own_forget, self._both)
        interaction = torch.mul(self._f_both, self._old, out=self._cells.extra)
        interaction.addcmul_(self._i, self._g_r).addcmul_(self._g, self._i_r)
        self._alone.add_(self._own_gates)
        interaction.addcmul_(self._i, self._g_both)
        interaction.addcmul_(self._i_both, self._g_both.add_(self._g))
        torch.add(self._new, self._cells.pair_shifts, out=self._cells.pair)
        self._cells.extend()
        self._cells.together(None, self.apart)

    def _each_alone(self, layer: PreparedLayer, entering: Sequence[Tensor | None]) -> None:
        """Step by step what {l} contributes to gates, cell and hidden state.

        A new word comes in with its own cell, and in a layer above with the product of the biases
        to which what enters from below adds the rest; its hidden state comes of that as all do.
        """
        i_b, _, g_b = layer.bias_parts.chunk(3)
        weights, f_b = layer.hidden_to_gates, layer.forget_bias
        scale, bias_weight = self._gates.scale, self._gates.bias_weight
        each = zip(self._gates_by_step, self._cells_by_step, entering, strict=True)
        for of_gates, of_cells, more in each:
            past, flat, a, shifted, shifts, tanhs, near, far, weight, alone, i, f, g = of_gates
            torch.mm(past, weights, out=flat)
            if more is not None:
                a.add_(more)
            torch.add(a, shifts, out=shifted)
            tanhs.tanh_()
            torch.addcmul(scale, far, weight, out=alone).addcmul_(near, bias_weight)
            torch.addcmul(f_b, a, alone, out=alone)
            fresh, old, new, shifts, tanhs, of_cell, far, output, weight, hidden = of_cells
            torch.addcmul(fresh, f, old, out=new).addcmul_(i, g).addcmul_(i, g_b).addcmul_(g, i_b)
            torch.add(new, shifts, out=tanhs).tanh_()
            torch.addcmul(output, far, weight, out=hidden).mul_(of_cell)

    def enlarged(self, factor: float) -> Float[Tensor, "2 K l S H"]:
        """What {l, r} adds to the hidden state, and all that it contributes, times a factor."""
        torch.add(self.hidden, self._own_hidden, out=self._joint).add_(self.apart)
        found: Tensor = self.found.mul_(factor)
        return found


def _by_step(*parts: Tensor) -> list[tuple[Tensor, ...]]:
    """All parts at each step."""
    return list(zip(*(part.unbind(0) for part in parts), strict=True))
