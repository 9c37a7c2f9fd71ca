"""An LSTM on numbers that carry derivatives along: x + a ε + b δ + m εδ, with ε² = δ² = 0.

What a word's scale does to a state is read off ε, another's off δ, and what both do together,
beyond that, off εδ. Tensors have a first axis of these four parts, or of the number alone.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from espalier.nets.lstm import LanguageModel

Dual = Float[Tensor, "P *R"]


def second_order(model: LanguageModel, below: Float[Tensor, "P B N D"]) -> Float[Tensor, "P B N H"]:
    """The top layer's hidden states, with the derivatives that the inputs ask for."""
    for from_input, from_hidden, bias in model.layers():
        projected = below @ from_input.T
        projected[0] += bias
        hidden = projected.new_zeros(*below.shape[:2], from_hidden.shape[1])
        cell, steps = hidden, []
        for now in projected.unbind(2):
            i, f, g, o = (now + hidden @ from_hidden.T).chunk(4, dim=-1)
            cell = times(sigmoid(f), cell) + times(sigmoid(i), tanh(g))
            hidden = times(sigmoid(o), tanh(cell))
            steps.append(hidden)
        below = torch.stack(steps, dim=2)
    return below


def times(x: Dual, y: Dual) -> Dual:
    """The product."""
    if len(x) == 1:
        return x * y
    mixed = x[0] * y[3] + x[3] * y[0] + x[1] * y[2] + x[2] * y[1]
    return torch.stack([x[0] * y[0], x[0] * y[1] + x[1] * y[0], x[0] * y[2] + x[2] * y[0], mixed])


def sigmoid(x: Dual) -> Dual:
    """The logistic function."""
    value = torch.sigmoid(x[0])
    slope = value * (1 - value)
    return _chain(x, value, slope, slope * (1 - 2 * value))


def tanh(x: Dual) -> Dual:
    """The hyperbolic tangent."""
    value = torch.tanh(x[0])
    slope = 1 - value * value
    return _chain(x, value, slope, -2 * value * slope)


def _chain(x: Dual, value: Tensor, slope: Tensor, bend: Tensor) -> Dual:
    if len(x) == 1:
        return value.unsqueeze(0)
    return torch.stack([value, slope * x[1], slope * x[2], slope * x[3] + bend * x[1] * x[2]])
