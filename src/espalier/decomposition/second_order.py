"""Hidden states and their mixed second derivative in two directions, by forward-mode AD."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.func import jvp

from espalier.nets.lstm import LanguageModel, unroll

Steps = Float[Tensor, "B N H"]


class SecondOrder(NamedTuple):
    """h(x + a u + b v) at a = b = 0: itself, dh/da, dh/db and d²h / da db."""

    hidden: Steps
    by_first: Steps
    by_second: Steps
    mixed: Steps


def second_order(
    model: LanguageModel, inputs: Float[Tensor, "B N D"], u: Tensor, v: Tensor
) -> SecondOrder:
    """The top layer's hidden states at embeddings, and how they change along `u` and `v`."""

    def along_u(x: Tensor) -> Any:
        return jvp(lambda given: _hidden_states(model, given), (x,), (u,))

    with warnings.catch_warnings():  # torch warns about itself
        warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated", DeprecationWarning)
        derived: Any = jvp(along_u, (inputs,), (v,))
    (hidden, by_first), (by_second, mixed) = derived
    return SecondOrder(hidden, by_first, by_second, mixed)


def _hidden_states(model: LanguageModel, inputs: Float[Tensor, "B N D"]) -> Steps:
    """The same as `model.rnn` gives, by operations that know their second derivatives."""
    zeros = inputs.new_zeros(len(inputs), model.shape.hidden)
    for from_input, from_hidden, bias in model.layers():
        projected = (inputs @ from_input.T + bias).unbind(1)
        steps = unroll(projected, from_hidden, (zeros, zeros))
        inputs = torch.stack([step.hidden for step in steps], dim=1)
    return inputs
