"""Both parts of the states of LSTMs and GRUs: any widths, one direction or two, projections.

A GRU's step, with gates r and z and candidate n (PyTorch's names), is decomposed as an LSTM's is:

    n = tanh(W x + b + r (V h + c))        h' = (1 - z) n + z h

Gates come in three parts, the bias first; the product r c of biases counts as a bias of n, and
products of parts are relevant as the allocation says. Parts sum to the state.

All pairs have a short way: before word p is read, from either side, the state of {l, p} is that of
{l}. So {l} is carried for every l, and {l, p} is one step from there, for all steps at once.

Axes: F focus sets, N steps, H units; a first axis of 2 is relevant and irrelevant.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from espalier.decomposition.allocations import Allocation, Terms, terms_of
from espalier.decomposition.contributions import Split, split_product
from espalier.decomposition.recursion import lstm_step
from espalier.networks import GRULayer, LSTMDirection, Recurrent

Both = Float[Tensor, "2 F N D"]
States = Float[Tensor, "2 F N H"]
State = tuple[Tensor, ...]  # both parts of the hidden state, and of a cell where there is one
# From what enters a step by its weights, the state before, and where the word is in focus.
StepOf = Callable[[Tensor, State, Tensor], State]


def through_recurrent(
    body: Recurrent,
    both: Both,
    focus: Float[Tensor, "F N 1"],
    allocation: Allocation,
    *,
    state: Float[Tensor, "L F H"] | None = None,
) -> list[Tensor]:
    """Both parts after each layer, those that enter the first one before them.

    An initial `state`, of a GRU in one direction, is irrelevant.
    """
    terms, found = terms_of(allocation), [both]
    for place, directions in enumerate(body.layers):
        before = None if state is None else state[place]
        made = [
            _hidden(_run(one, _turn(found[-1], number), _turn(focus, number), terms, before))
            for number, one in enumerate(directions)
        ]
        found.append(_beside(made))
    return found


def recurrent_pairs(
    body: Recurrent, parts: tuple[Both, Both], focus: Float[Tensor, "F N 1"], allocation: Allocation
) -> list[tuple[Tensor, Tensor]]:
    """Both parts of {l} and, at p, of {l, p} after each layer; `parts` are those that enter it.

    Of networks without a second direction, or with one layer, where l < p is what counts.
    """
    terms, found = terms_of(allocation), [parts]
    for directions in body.layers:
        alone, joint = [], []
        for number, one in enumerate(directions):
            single, both = (_turn(part, number) for part in found[-1])
            states = _run(one, single, _turn(focus, number), terms)
            alone.append(_hidden(states))
            before = tuple(
                torch.stack(part, dim=2).flatten(1, 2) for part in zip(*states[:-1], strict=True)
            )
            entering = (both @ _input_weights(one).T).flatten(1, 2)
            made = _step(one, terms)(entering, before, torch.ones_like(entering[0, :, :1]))[0]
            joint.append(made.unflatten(1, both.shape[1:3]))
        found.append((_beside(alone), _beside(joint)))
    return found


def _turn(x: Tensor, number: int) -> Tensor:
    """Steps from the end to the beginning for the second direction."""
    return x.flip(-2) if number else x


def _beside(directions: list[Tensor]) -> Tensor:
    turned = [_turn(one, number) for number, one in enumerate(directions)]
    return torch.cat(turned, dim=-1)


def _hidden(states: list[State]) -> States:
    return torch.stack([state[0] for state in states[1:]], dim=2)


def _input_weights(direction: LSTMDirection | GRULayer) -> Tensor:
    return (direction if isinstance(direction, GRULayer) else direction.layer).from_input


def _run(
    direction: LSTMDirection | GRULayer,
    both: Both,
    here: Float[Tensor, "F N 1"],
    terms: Terms,
    hidden: Float[Tensor, "F H"] | None = None,
) -> list[State]:
    """The state before the first step, and after each."""
    match direction:
        case LSTMDirection(layer, _):
            widths = [layer.from_hidden.shape[1], len(layer.from_hidden) // 4]
        case GRULayer():
            widths = [direction.from_hidden.shape[1]]
    entering, step = both @ _input_weights(direction).T, _step(direction, terms)
    found = [tuple(both.new_zeros(*both.shape[:2], width) for width in widths)]
    if hidden is not None:
        found[0][0][1] = hidden
    for now, where in zip(entering.unbind(2), here.unbind(1), strict=True):
        found.append(step(now, found[-1], where))
    return found


def _step(direction: LSTMDirection | GRULayer, terms: Terms) -> StepOf:
    match direction:
        case GRULayer():
            return lambda now, state, here: (
                _gru_step(direction, now, state[0], terms=terms, here=here),
            )
        case LSTMDirection(layer, projection):
            recurrent, bias = layer.from_hidden.T.contiguous(), layer.bias.unsqueeze(-2)

            def step(now: Tensor, state: State, here: Tensor) -> State:
                gates, cell = now + state[0] @ recurrent, Split.without_bias(*state[1])
                after, hidden = lstm_step(gates, bias, cell, terms=terms, here=here)
                return hidden if projection is None else hidden @ projection.T, after

            return step


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
