"""Both parts of the states of LSTMs and GRUs: any widths, one direction or two, projections.

A GRU's step, with gates r and z and candidate n (PyTorch's names), is taken apart as an LSTM's is:

    n = tanh(W x + b + r (V h + c))        h' = (1 - z) n + z h

Gates come in three parts, the bias first; the product r c of biases counts as a bias of n, and
products of parts are relevant as the allocation says. Parts sum to the state.

Axes: F focus sets, N steps, H units; a first axis of 2 is relevant and irrelevant.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from espalier.decomposition.allocations import Allocation, Terms, terms_of
from espalier.decomposition.contributions import Split, split_product
from espalier.decomposition.recursion import through_layer
from espalier.networks import GRULayer, LSTMDirection, Recurrent

Both = Float[Tensor, "2 F N D"]
States = Float[Tensor, "2 F N H"]


def through_recurrent(
    body: Recurrent, both: Both, focus: Float[Tensor, "F N 1"], allocation: Allocation
) -> list[Tensor]:
    """Both parts after each layer, those that enter the first one before them."""
    terms, found = terms_of(allocation), [both]
    for directions in body.layers:
        states = []
        for number, direction in enumerate(directions):
            given, here = (found[-1].flip(2), focus.flip(1)) if number else (found[-1], focus)
            made = _direction(direction, given, here, terms)
            states.append(made.flip(2) if number else made)
        found.append(torch.cat(states, dim=-1))
    return found


def _direction(
    direction: LSTMDirection | GRULayer, both: Both, here: Tensor, terms: Terms
) -> States:
    match direction:
        case LSTMDirection(layer, projection):
            return through_layer(layer, both, here, terms=terms, projection=projection)
        case GRULayer():
            return _through_gru(direction, both, here, terms)


def _through_gru(layer: GRULayer, both: Both, here: Tensor, terms: Terms) -> States:
    projected = both @ layer.from_input.T
    hidden = both.new_zeros(2, both.shape[1], layer.from_hidden.shape[1])
    found = []
    for now, where in zip(projected.unbind(2), here.unbind(1), strict=True):
        hidden = _gru_step(layer, now, hidden, terms=terms, here=where)
        found.append(hidden)
    return torch.stack(found, dim=2)


def _gru_step(
    layer: GRULayer,
    now: Float[Tensor, "2 F three_H"],
    hidden: Float[Tensor, "2 F H"],
    *,
    terms: Terms,
    here: Float[Tensor, "F 1"],
) -> Float[Tensor, "2 F H"]:
    """Both parts of the hidden state after a step."""
    past = hidden @ layer.from_hidden.T
    units = hidden.shape[-1]
    gates = (now + past)[..., : 2 * units]
    gate_bias = (layer.input_bias + layer.hidden_bias)[: 2 * units]
    opened = terms.contributions(torch.sigmoid, gates[0], gates[1], gate_bias)
    reset, keep = (Split(*parts) for parts in zip(*(x.chunk(2, -1) for x in opened), strict=True))
    nowhere = torch.zeros_like(here)
    bias = layer.hidden_bias[2 * units :]
    last = past[..., 2 * units :]
    carried = Split(last[0], last[1], bias, last[0] + last[1] + bias)
    relevant, rest = split_product(reset, carried, terms.interactions, nowhere)
    biases = reset.bias * bias  # which the rest holds too
    own = now[..., 2 * units :]
    made = terms.contributions(
        torch.tanh,
        own[0] + relevant,
        own[1] + (rest - biases),
        layer.input_bias[2 * units :] + biases,
    )
    write = Split(-keep.relevant, -keep.irrelevant, 1 - keep.bias, 1 - keep.whole)
    where = {"focus": here, "always": torch.ones_like(here), "never": nowhere}[terms.bias_bias]
    written = split_product(write, made, terms.interactions, where)
    kept = split_product(keep, Split.without_bias(*hidden), terms.interactions, nowhere)
    return torch.stack([one + other for one, other in zip(written, kept, strict=True)])
