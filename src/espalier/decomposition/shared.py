"""What all rows of a step share: one plain pass through the model, made ready for the rows.

A row is a word l of a sentence: what is relevant when l alone is in focus. With A + B + C = T the
irrelevant side never has to be carried along (T is known from the plain pass), and `differences`
says what is to be known of T. Everything has a row for each sentence that has the step; sentences
are ordered by length, longest first, so that those still going on are the first ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from espalier.decomposition.differences import LOG2E, Around, Way
from espalier.nets.lstm import LSTMLayer

Wide = Float[Tensor, "S three_H"]
Narrow = Float[Tensor, "S H"]


@dataclass(frozen=True)
class Ready:
    """A layer's weights as the all-pairs path uses them: three gates, g doubled, units of log 2."""

    layer: LSTMLayer
    units: int
    doubled: Float[Tensor, " three_H"]  # 1 for i and f, 2 for g: tanh x = 2 s(2x) - 1
    plain: Float[Tensor, "H four_H"]  # recurrent weights as they are, turned for products
    recurrent: Float[Tensor, "H three_H"]
    from_below: Float[Tensor, "D three_H"]
    squashed_bias: Float[Tensor, " three_H"]
    minus_biases: Float[Tensor, " H"]  # -2 i_b g_b: where the word is out of focus

    @classmethod
    def of(cls, layer: LSTMLayer) -> Ready:
        """Made once for a model."""
        units = layer.from_hidden.shape[-1]
        doubled = layer.bias.new_ones(3 * units)
        doubled[2 * units :] = 2
        scale = doubled * LOG2E
        squashed = torch.sigmoid(layer.bias[: 3 * units] * doubled)
        both = -2 * LOG2E * squashed[:units] * (2 * squashed[2 * units :] - 1)
        recurrent, below = (w[: 3 * units].T * scale for w in (layer.from_hidden, layer.from_input))
        return cls(
            layer=layer,
            units=units,
            doubled=doubled,
            plain=layer.from_hidden.T.contiguous(),
            recurrent=recurrent.contiguous(),
            from_below=below.contiguous(),
            squashed_bias=squashed,
            minus_biases=both,
        )


@dataclass(frozen=True)
class Shared:
    """Of one layer at one step, for every sentence."""

    offset: Wide  # (C - T) / 2, from where the way starts
    gates: Around  # settles to 2 (i_r + i_b), 2 (f_r + f_b) and g_r + g_b
    own: Wide | None  # the word's input; above the first layer rows have inputs of their own
    minus_cell: Narrow  # from where the way starts
    output: Around  # settles to the hidden state's relevant part
    single: Narrow  # what the step's own word contributes to the hidden state alone
    single_cell: Narrow  # and twice what it contributes to the cell

    def of(self, sentences: slice) -> Shared:
        """The same of some sentences, as a view."""
        found: Shared = _each(self, lambda tensor: tensor[sentences])
        return found


def _each(given: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """The same with every tensor in it changed."""
    match given:
        case Tensor():
            return change(given)
        case Around():
            return Around(*(_each(part, change) for part in given))
        case Shared():
            return Shared(*(_each(getattr(given, field.name), change) for field in fields(given)))
    return given


def plain_step(
    ready: Ready, moved: Float[Tensor, "S four_H"], state: Float[Tensor, "2 S H"]
) -> Float[Tensor, "S four_H"]:
    """T of all four gates, from T - C, in place; `state`, hidden and cell, is moved on."""
    hidden, cell = state
    totals = moved.add_(ready.layer.bias)
    i, f, g, o = totals.chunk(4, dim=-1)
    cell.mul_(torch.sigmoid(f)).addcmul_(torch.sigmoid(i), torch.tanh(g))
    torch.mul(torch.sigmoid(o), torch.tanh(cell), out=hidden)
    return totals


def share_step(
    ready: Ready,
    way: Way,
    plain: tuple[Float[Tensor, "S four_H"], Float[Tensor, "2 S H"]],
    *,
    own: Float[Tensor, "S four_H"],
    first: bool,
) -> Shared | None:
    """What rows will need of a plain step, or None where `way` does not reach that far.

    `own` is what the step's word alone gives to the gates; in the `first` layer that is the same
    for all rows.
    """
    totals, (hidden, cell) = plain
    width = 3 * ready.units
    gates, bias = totals[:, :width] * ready.doubled, ready.layer.bias[:width] * ready.doubled
    middle = (gates + bias).mul_(0.5)
    if not way.reaches(middle) or not way.reaches(cell):
        return None
    offset = way.origin((bias - gates).mul_(LOG2E / 2), middle)
    level = gates.sigmoid_().add_(ready.squashed_bias)
    level[:, : 2 * ready.units] += 1  # d - 1 is added to it; g loses the 1 of 2 s(2x) - 1
    out = torch.sigmoid(totals[:, width:])
    settled = way.around(middle, level)
    output = way.around(cell, torch.add(out, hidden, alpha=0.5), out)
    minus_cell = way.origin(cell * -LOG2E, cell)
    word = own[:, :width] * (ready.doubled * LOG2E)
    single, single_cell = _alone(way, way.open(offset + word), settled, output, minus_cell)
    given = word if first else None
    return Shared(offset, settled, given, minus_cell, output, single, single_cell)


def _alone(
    way: Way, moved: Wide, gates: Around, output: Around, minus_cell: Narrow
) -> tuple[Narrow, Narrow]:
    """Hidden state and twice the cell state of a row that has no past: only the word itself."""
    i, _, g = way.settle(moved, torch.empty_like(moved), gates).chunk(3, dim=-1)
    twice = (i * g).mul_(LOG2E)
    moved = way.open(twice + minus_cell)
    return way.settle(moved, torch.empty_like(moved), output), twice
