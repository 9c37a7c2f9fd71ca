"""Contextual decomposition of an LSTM: one propagation of two parts, for any allocation.

Both parts are propagated, each separately, so that their sum is a check and not true by
construction. Batched over sequences and focus sets alike: a row is a sequence with a focus. Weights
may carry a first axis of members, as `nets.lstm.members` stacks them; inputs then carry it too. The
fast way through all pairs of words is in `espalier.decomposition.all_pairs`.

Axes: B rows, N steps, D input width, H units, L layers; `*M` stands for the members' axis or
nothing. Gates lie as PyTorch has them, i f g o, in 4H.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from espalier.decomposition.allocations import (
    Allocation,
    AllocationName,
    Terms,
    read_allocation,
    terms_of,
)
from espalier.decomposition.contributions import Split, split_product
from espalier.nets.lstm import LSTMLayer

Steps = Float[Tensor, "*M B N H"]
LayerStates = tuple[Float[Tensor, "L *M B H"], Float[Tensor, "L *M B H"]]


class Halves(NamedTuple):
    """The part due to the focus, and the rest; together they are the state itself."""

    relevant: Steps
    irrelevant: Steps


@torch.no_grad()
def propagate(
    layers: Sequence[LSTMLayer],
    inputs: Float[Tensor, "*M B N D"],
    focus: Bool[Tensor, "*M B N"],
    *,
    allocation: Allocation | AllocationName = "papers",
    state: LayerStates | None = None,
) -> Halves:
    """The two parts of the top layer's hidden state after every step.

    `focus` is true at the steps whose input counts as relevant. An initial state is irrelevant.
    The parts of one layer are the input parts of the next.

    >>> from espalier.nets.lstm import language_model
    >>> model, inputs = language_model(vocabulary_size=9, hidden=4), torch.ones(1, 2, 4)
    >>> relevant, irrelevant = propagate(model.layers(), inputs, torch.tensor([[True, False]]))
    >>> bool((relevant + irrelevant - model.rnn(inputs)[0]).abs().max() < 1e-6)
    True
    """
    terms, here = terms_of(read_allocation(allocation)), focus.unsqueeze(-1).to(inputs.dtype)
    both = torch.stack([inputs * here, inputs * (1 - here)])
    for number, layer in enumerate(layers):
        before = None if state is None else (state[0][number], state[1][number])
        both = through_layer(layer, both, here, terms=terms, state=before)
    return Halves(both[0], both[1])


def through_layer(
    layer: LSTMLayer,
    both: Float[Tensor, "2 *M B N D"],
    here: Float[Tensor, "*M B N 1"],
    *,
    terms: Terms,
    state: tuple[Tensor, Tensor] | None = None,
) -> Float[Tensor, "2 *M B N _"]:
    """Both parts of one layer's hidden state after every step, from both parts of its input."""
    projected = (both.flatten(-3, -2) @ layer.from_input.mT).unflatten(-2, both.shape[-3:-1])
    recurrent, bias = layer.from_hidden.mT.contiguous(), layer.bias.unsqueeze(-2)
    hidden = both.new_zeros(*both.shape[:-2], recurrent.shape[-2])
    cell = both.new_zeros(*both.shape[:-2], recurrent.shape[-1] // 4)
    if state is not None:
        hidden[1], cell[1] = state
    found = []
    for now, where in zip(projected.unbind(-2), here.unbind(-2), strict=True):
        gates = now + hidden @ recurrent
        cell, hidden = lstm_step(gates, bias, Split.without_bias(*cell), terms=terms, here=where)
        found.append(hidden)
    return torch.stack(found, dim=-2)


def lstm_step(
    gates: Float[Tensor, "2 *M B four_H"],
    bias: Float[Tensor, "*M 1 four_H"],
    cell: Split,
    *,
    terms: Terms,
    here: Float[Tensor, "*M B 1"],
) -> tuple[Float[Tensor, "2 *M B H"], Float[Tensor, "2 *M B H"]]:
    """Both parts of cell and hidden state after a step; `gates` holds A and B, `bias` C."""
    (a_i, a_f, a_g, a_o), (b_i, b_f, b_g, b_o) = (part.chunk(4, dim=-1) for part in gates)
    c_i, c_f, c_g, c_o = bias.chunk(4, dim=-1)
    i = terms.contributions(torch.sigmoid, a_i, b_i, c_i)
    f = terms.contributions(torch.sigmoid, a_f, b_f, c_f)
    g = terms.contributions(torch.tanh, a_g, b_g, c_g)
    biases = {"focus": here, "always": torch.ones_like(here), "never": torch.zeros_like(here)}
    nowhere = biases["never"]
    written = split_product(i, g, terms.interactions, biases[terms.bias_bias])
    kept = split_product(f, cell, terms.interactions, nowhere)
    now = torch.stack([w + k for w, k in zip(written, kept, strict=True)])
    squashed = terms.contributions(torch.tanh, now[0], now[1], now.new_zeros(()))
    if terms.split_output:
        o = terms.contributions(torch.sigmoid, a_o, b_o, c_o)
        shown = split_product(o, squashed, terms.interactions, nowhere)
    else:
        whole = torch.sigmoid(a_o + b_o + c_o)
        shown = whole * squashed.relevant, whole * squashed.irrelevant
    return now, torch.stack(shown)
