"""The LSTM cell, the only one here: what else runs an LSTM step by step observes this one.

Axes: H units, D input width, B sequences; `*M` stands for an axis of members, as `members` stacks
them, or nothing. Gates lie as PyTorch has them, i f g o, in 4H.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor


class LSTMLayer(NamedTuple):
    """The weights of one layer: W (input), V (recurrent) and b (both biases together)."""

    from_input: Float[Tensor, "*M four_H D"]
    from_hidden: Float[Tensor, "*M four_H H"]
    bias: Float[Tensor, "*M four_H"]


class LSTMStates(NamedTuple):
    """Everything an LSTM goes through, in one step or in many.

    `input_gate` i, `forget_gate` f and `output_gate` o are sigmoids, `candidate` g is a tanh;
    with c' the cell state before, `cell` is f c' + i g and `hidden` is o tanh(cell).
    """

    input_gate: Float[Tensor, "*R H"]
    forget_gate: Float[Tensor, "*R H"]
    candidate: Float[Tensor, "*R H"]
    output_gate: Float[Tensor, "*R H"]
    cell: Float[Tensor, "*R H"]
    hidden: Float[Tensor, "*R H"]


def lstm_cell(totals: Float[Tensor, "*R four_H"], cell: Float[Tensor, "*R H"]) -> LSTMStates:
    """One step, from the sums that enter the gates and the cell state before.

    >>> step = lstm_cell(torch.zeros(1, 8), torch.ones(1, 2))
    >>> step.forget_gate.tolist(), step.cell.tolist()
    ([[0.5, 0.5]], [[0.5, 0.5]])
    """
    i, f, g, o = totals.chunk(4, dim=-1)
    i, f, g, o = torch.sigmoid(i), torch.sigmoid(f), torch.tanh(g), torch.sigmoid(o)
    cell = torch.addcmul(f * cell, i, g)
    return LSTMStates(i, f, g, o, cell, o * torch.tanh(cell))


def unroll(
    projected: Iterable[Float[Tensor, "*M B four_H"]],
    from_hidden: Float[Tensor, "*M four_H H"],
    state: tuple[Float[Tensor, "*M B H"], Float[Tensor, "*M B H"]],
) -> Iterator[LSTMStates]:
    """The steps of one layer, one after another.

    `projected` holds for each what does not depend on the past: input weights times input, plus
    the bias.
    """
    hidden, cell = state
    recurrent = from_hidden.mT.contiguous()  # read at every step: 4 times as fast on a CPU
    for now in projected:
        step = lstm_cell(now + product(hidden, recurrent), cell)
        hidden, cell = step.hidden, step.cell
        yield step


def product(left: Float[Tensor, "*M A B"], right: Float[Tensor, "*M B C"]) -> Tensor:
    """The product of each member; of a single one a plain one, whose threads do better on a CPU."""
    if right.ndim == 3 and len(right) == 1:
        return torch.mm(left[0], right[0])[None]
    return left @ right
