"""A network's states and logits from the vectors that enter its body, plainly computed.

A module's own logits are compared with these, and methods that need only outputs run them.
Differentiable in the inputs; axes as in `blocks`, B rows of vectors.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from espalier.nets.lstm import lstm_cell, unroll
from espalier.networks.blocks import (
    ACTIVATIONS,
    Activation,
    Attention,
    FeedForward,
    GRULayer,
    Linear,
    LSTMDirection,
    Norm,
    Recurrent,
    Sublayer,
    Transformer,
)
from espalier.networks.network import Network

States = Float[Tensor, "*B N D"]


def run(net: Network, inputs: States) -> list[Tensor]:
    """The states after each layer, those that enter the first one before them."""
    match net.body:
        case Transformer(layers, final):
            found = [inputs]
            for layer in layers:
                x = found[-1]
                for sublayer in layer:
                    x = through_sublayer(x, sublayer)
                found.append(x)
            if final is not None:
                found[-1] = normed(found[-1], final)
            return found
        case Recurrent(layers):
            found = [inputs]
            for directions in layers:
                found.append(torch.cat(_both_ways(found[-1], directions), dim=-1))
            return found


def logits(net: Network, states: Tensor, *, bias: bool = True) -> Tensor:
    """What the head makes of the last layer's states; with or without its last bias."""
    for part in net.head[:-1]:
        match part:
            case Linear():
                states = linear(states, part)
            case Norm():
                states = normed(states, part)
            case Activation(name):
                states = ACTIVATIONS[name](states)
    last = net.head[-1]
    assert isinstance(last, Linear)
    return linear(states, last if bias else Linear(last.weight))


def linear(x: Tensor, part: Linear) -> Tensor:
    """weight x + bias."""
    return functional.linear(x, part.weight, part.bias)


def normed(x: Tensor, norm: Norm) -> Tensor:
    """x over its deviation (or root mean square), scaled."""
    if norm.centred:
        return functional.layer_norm(x, x.shape[-1:], norm.weight, norm.bias, norm.eps)
    found = functional.rms_norm(x, x.shape[-1:], norm.weight, norm.eps)
    return found if norm.bias is None else found + norm.bias


def through_sublayer(x: States, sublayer: Sublayer) -> States:
    """The residual stream after a sub-layer."""
    seen = x if sublayer.before is None else normed(x, sublayer.before)
    match sublayer.body:
        case FeedForward() as mlp:
            x = x + feed_forward(seen, mlp)
        case heads:
            x = x + sum((_attend(seen, one) for one in heads), torch.zeros_like(x))
    return x if sublayer.after is None else normed(x, sublayer.after)


def feed_forward(x: States, mlp: FeedForward) -> States:
    """What an MLP adds to the stream."""
    act = ACTIVATIONS[mlp.activation]
    features = x
    for part in mlp.expansion:
        features = act(linear(features, part))
    if mlp.expansion:
        x = torch.cat([x, features], dim=-1)
    inner = linear(x, mlp.inner)
    hidden = act(inner) if mlp.gate is None else inner * act(linear(x, mlp.gate))
    return linear(hidden, mlp.outer)


def _attend(x: States, attention: Attention) -> States:
    query, key, value = project(x, attention)
    carried = pattern(query, key, attention) @ value
    return linear(join(carried), attention.output)


def project(x: States, attention: Attention) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values of every head, (..., h, N, k)."""
    query, key, value = (
        split(linear(x, part), attention, number)
        for number, part in enumerate((attention.query, attention.key, attention.value))
    )
    return turned(query, attention), turned(key, attention), value


def split(x: Float[Tensor, "*B N I"], attention: Attention, number: int) -> Tensor:
    """Heads apart; keys (1) and values (2) of a group are given to each of its heads."""
    count = attention.heads if number == 0 else attention.groups
    found: Tensor = x.unflatten(-1, (count, -1)).transpose(-2, -3)
    return found.repeat_interleave(attention.heads // count, dim=-3)


def join(x: Float[Tensor, "*B h N k"]) -> Float[Tensor, "*B N I"]:
    """Heads side by side again."""
    return x.transpose(-2, -3).flatten(-2)


def turned(x: Float[Tensor, "*B N k"], attention: Attention) -> Tensor:
    """Queries or keys turned by their positions, where the network does so; linear in x."""
    if attention.rotary is None:
        return x
    cosine, sine = (part.to(x) for part in attention.rotary(x.shape[-2]))
    first, second = x.chunk(2, dim=-1)
    return x * cosine + torch.cat([-second, first], dim=-1) * sine


def scores_bias(attention: Attention, like: Tensor) -> Float[Tensor, "*h N N"]:
    """What is added to scores: relative biases, and minus infinity where nothing is seen."""
    size = like.shape[-1]
    found = like.new_zeros(size, size)
    if attention.causal:
        hidden = torch.ones(size, size, dtype=torch.bool, device=like.device).triu(1)
        found = found.masked_fill(hidden, -torch.inf)
    return found if attention.bias is None else found + attention.bias(size).to(like)


def pattern(query: Tensor, key: Tensor, attention: Attention) -> Float[Tensor, "*B h N N"]:
    """How much each position attends to each other."""
    return softmax(query @ key.mT * attention.scale, attention)


def softmax(scores: Float[Tensor, "*B h N N"], attention: Attention) -> Tensor:
    """The pattern of scores; what a sink takes is missing to 1."""
    scores = scores + scores_bias(attention, scores)
    if attention.sink is None:
        return scores.softmax(dim=-1)
    sink = attention.sink.to(scores)[:, None, None].expand(*scores.shape[:-1], 1)
    return torch.cat([scores, sink], dim=-1).softmax(dim=-1)[..., :-1]


def _both_ways(x: States, directions: tuple[LSTMDirection | GRULayer, ...]) -> list[Tensor]:
    found = []
    for number, direction in enumerate(directions):
        given = x.flip(1) if number else x
        states = _recur(given, direction)
        found.append(states.flip(1) if number else states)
    return found


def _recur(x: States, direction: LSTMDirection | GRULayer) -> Float[Tensor, "*B N H"]:
    match direction:
        case GRULayer():
            return torch.stack(_gru(x, direction), dim=1)
        case LSTMDirection(layer, projection):
            zeros = x.new_zeros(len(x), layer.from_hidden.shape[0] // 4)
            if projection is not None:
                return torch.stack(_projected(x, direction), dim=1)
            projected = (x @ layer.from_input.T + layer.bias).unbind(1)
            steps = unroll(projected, layer.from_hidden, (zeros, zeros))
            return torch.stack([step.hidden for step in steps], dim=1)


def _projected(x: States, direction: LSTMDirection) -> list[Tensor]:
    layer, projection = direction.layer, direction.projection
    assert projection is not None
    hidden = x.new_zeros(len(x), len(projection))
    cell, found = x.new_zeros(len(x), projection.shape[1]), []
    for now in (x @ layer.from_input.T + layer.bias).unbind(1):
        step = lstm_cell(now + hidden @ layer.from_hidden.T, cell)
        cell, hidden = step.cell, step.hidden @ projection.T
        found.append(hidden)
    return found


def _gru(x: States, layer: GRULayer) -> list[Tensor]:
    hidden, found = x.new_zeros(len(x), layer.from_hidden.shape[1]), []
    for now in (x @ layer.from_input.T + layer.input_bias).unbind(1):
        past = hidden @ layer.from_hidden.T + layer.hidden_bias
        (a, b, c), (p, q, s) = now.chunk(3, dim=-1), past.chunk(3, dim=-1)
        reset, keep = torch.sigmoid(a + p), torch.sigmoid(b + q)
        hidden = (1 - keep) * torch.tanh(c + reset * s) + keep * hidden
        found.append(hidden)
    return found
