"""Many language models of one shape as one computation: weights stacked along a first axis E.

The names are those of `LanguageModel.state_dict()`, so that a member is a slice. Everything is a
function of (weights, tokens, state); members never see each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from espalier.errors import ModelError
from espalier.nets.lstm.cell import LSTMLayer, product
from espalier.nets.lstm.model import LanguageModel, LSTMShape
from espalier.nets.lstm.recurrence import recur
from espalier.nets.noise import Noise

NEVER = -1e9  # a logit whose exponential is zero next to any other

StackedWeights = dict[str, Tensor]
StackedState = tuple[Float[Tensor, "L E B H"], Float[Tensor, "L E B H"]]


def stack(models: Sequence[Any]) -> StackedWeights:
    """The weights of models of one shape, dropout apart, with a first axis E; tied ones once."""
    if not models:
        raise ModelError("no models to stack: give at least one")
    shapes = {replace(model.shape, dropout=0.0) for model in models}
    if len(shapes) > 1:
        found = ", ".join(sorted(map(str, shapes)))
        raise ModelError(f"members must have one shape, but these differ: {found}")
    named = [dict(model.named_parameters()) for model in models]
    return {name: torch.stack([own[name].detach() for own in named]) for name in named[0]}


def member(weights: StackedWeights, index: int, shape: LSTMShape) -> LanguageModel:
    """One member as a model of its own, on the CPU."""
    model = LanguageModel(shape)
    own = {name: tensor[index].detach().float().cpu() for name, tensor in weights.items()}
    if shape.tied:
        own["decoder.weight"] = own["encoder.weight"]
    model.load_state_dict(own)
    return model


def stacked_layers(weights: StackedWeights) -> list[LSTMLayer]:
    """The weights of each layer of all members, from the first."""
    found: list[LSTMLayer] = []
    while (layer := f"l{len(found)}") and f"rnn.weight_hh_{layer}" in weights:
        bias = weights[f"rnn.bias_ih_{layer}"] + weights[f"rnn.bias_hh_{layer}"]
        from_input, from_hidden = (weights[f"rnn.weight_{kind}_{layer}"] for kind in ("ih", "hh"))
        found.append(LSTMLayer(from_input, from_hidden, bias))
    return found


def initial_state(weights: StackedWeights, shape: LSTMShape, batch: int) -> StackedState:
    """Zeros of (layers, members, batch, hidden), twice."""
    like = weights["encoder.weight"]
    size = (shape.layers, len(like), batch, shape.hidden)
    return like.new_zeros(size), like.new_zeros(size)


def read(
    weights: StackedWeights,
    tokens: Int[Tensor, "E N B"],
    state: StackedState,
    *,
    noise: Noise | None = None,
) -> tuple[Float[Tensor, "E N B H"], StackedState]:
    """The top layer's hidden states; with `noise`, dropped out as in training."""
    drop = (lambda x, _: x) if noise is None else noise.drop
    below = drop(look_up(weights["encoder.weight"], tokens), 0)
    hiddens, cells = [], []
    layers = stacked_layers(weights)
    for place, (layer, *before) in enumerate(zip(layers, *state, strict=True), start=1):
        above, last = recur(project(layer, below), layer.from_hidden, (before[0], before[1]))
        hiddens.append(above[:, -1])
        cells.append(last)
        below = drop(above, place)
    return below, (torch.stack(hiddens), torch.stack(cells))


def decode(weights: StackedWeights, hidden: Float[Tensor, "E M H"]) -> Float[Tensor, "E M V"]:
    """Logits of each member for any number of its hidden states."""
    matrix = weights.get("decoder.weight", weights["encoder.weight"])
    return product(hidden, matrix.transpose(1, 2)).add_(weights["decoder.bias"].unsqueeze(1))


def decode_aligned(
    weights: StackedWeights, hidden: Float[Tensor, "E M H"]
) -> Float[Tensor, "E M V8"]:
    """Logits with columns added to a multiple of 8, of probability zero.

    Tensor cores read rows that start at multiples of 16 bytes; a vocabulary of 1,002 or 33,278
    leaves most of their speed unused. A loss and its derivative are the same with or without.
    """
    matrix = weights.get("decoder.weight", weights["encoder.weight"])
    added = -matrix.shape[1] % 8
    bias = functional.pad(weights["decoder.bias"], (0, added), value=NEVER)
    padded = functional.pad(matrix, (0, 0, 0, added))
    return product(hidden, padded.transpose(1, 2)).add_(bias.unsqueeze(1))


def look_up(
    table: Float[Tensor, "E V D"], tokens: Int[Tensor, "E N B"]
) -> Float[Tensor, "E N B D"]:
    """The row of each member's own table for each of its tokens."""
    rows: Tensor = _Lookup.apply(table, tokens)
    return rows


def mean_losses(logits: Float[Tensor, "E M V"], targets: Int[Tensor, "E M"]) -> Float[Tensor, " E"]:
    """Each member's mean cross-entropy, in nats."""
    losses: Tensor = _Loss.apply(logits, targets)
    return losses


def project(layer: LSTMLayer, below: Float[Tensor, "E N B D"]) -> Float[Tensor, "E N B four_H"]:
    """What a layer's gates get from below and from their biases, before any recurrence."""
    flat = product(below.flatten(1, 2), layer.from_input.mT).add_(layer.bias.unsqueeze(1))
    return flat.view(*below.shape[:3], -1)


class _Lookup(torch.autograd.Function):
    """Rows of each member's table; the derivative is added up in a dense table.

    The additions run in any order on CUDA, so two runs there differ in the last bits.
    """

    @staticmethod
    def forward(ctx: Any, table: Float[Tensor, "E V D"], tokens: Int[Tensor, "E N B"]) -> Tensor:
        members, size, width = table.shape
        offsets = torch.arange(0, members * size, size, device=tokens.device)
        rows = (tokens + offsets.view(-1, 1, 1)).flatten()
        ctx.save_for_backward(rows)
        ctx.size = table.shape
        return table.reshape(-1, width).index_select(0, rows).view(*tokens.shape, width)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        (rows,) = ctx.saved_tensors
        members, size, width = ctx.size
        table = grads[0].new_zeros(members * size, width)
        table.index_add_(0, rows, grads[0].reshape(-1, width))
        return table.view(ctx.size), None


class _Loss(torch.autograd.Function):
    """Mean cross-entropy by member. The softmax is computed once and saved for the derivative.

    The logarithm of its divisor is read off the largest entry, which is at least 1/V and so far
    from zero: log sum exp(x) = max x - log max softmax(x).
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor) -> Tensor:
        shares = torch.softmax(logits, dim=-1)
        ctx.save_for_backward(shares, targets)
        divisors = logits.amax(-1) - shares.amax(-1).log()
        return (divisors - logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1)).mean(-1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        shares, targets = ctx.saved_tensors
        scales = (grads[0] / targets.shape[1]).view(-1, 1, 1)
        slopes = shares * scales
        slopes.scatter_add_(-1, targets.unsqueeze(-1), -scales.expand(*targets.shape, 1))
        return slopes, None
