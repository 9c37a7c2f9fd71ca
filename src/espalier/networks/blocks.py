"""The parts of a network as plain data: tensors and sizes, without code.

Every architecture is read into these few types, and decompositions know only these.
A Transformer's sub-layer turns x into after(x + body(before(x))), either norm left out.

Axes: N positions, D residual, O out, I in, h heads, k width of a head, V words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Literal, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from espalier.nets.lstm import LSTMLayer

ActivationName = Literal["relu", "gelu", "gelu_tanh", "silu", "tanh", "clip"]
ACTIVATIONS: dict[ActivationName, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "silu": functional.silu,
    "tanh": torch.tanh,
    "clip": lambda x: x.clamp(0, 1),
}
T = TypeVar("T")


@dataclass(frozen=True)
class Linear:
    """x -> weight x + bias."""

    weight: Float[Tensor, "O I"]
    bias: Float[Tensor, " O"] | None = None


@dataclass(frozen=True)
class Norm:
    """LayerNorm, or without centring RMSNorm."""

    weight: Float[Tensor, " D"] | None
    bias: Float[Tensor, " D"] | None
    eps: float
    centred: bool = True


@dataclass(frozen=True)
class Activation:
    """An elementwise function, by its name."""

    name: ActivationName


@dataclass(frozen=True)
class Attention:
    """Heads side by side; `groups` of keys and values are shared by several heads each.

    `bias` gives what is added to the scores of N positions, `rotary` the cosines and sines that
    turn queries and keys; `sink` is the score of a place that carries nothing.
    """

    query: Linear
    key: Linear
    value: Linear
    output: Linear
    heads: int
    groups: int
    scale: float
    causal: bool
    bias: Callable[[int], Float[Tensor, "h N N"]] | None = None
    rotary: Callable[[int], tuple[Tensor, Tensor]] | None = None
    sink: Float[Tensor, " h"] | None = None


@dataclass(frozen=True)
class FeedForward:
    """outer(act(inner x)), times act(gate x) in place of act where there is a gate.

    With an `expansion` x is followed by act(... act(expansion x)).
    """

    inner: Linear
    outer: Linear
    activation: ActivationName
    gate: Linear | None = None
    expansion: tuple[Linear, ...] = ()


@dataclass(frozen=True)
class Sublayer:
    """after(x + body(before(x))); several attentions are added up."""

    body: tuple[Attention, ...] | FeedForward
    before: Norm | None = None
    after: Norm | None = None


@dataclass(frozen=True)
class Transformer:
    """Layers of sub-layers, and a norm after the last."""

    layers: tuple[tuple[Sublayer, ...], ...]
    final: Norm | None = None


@dataclass(frozen=True)
class GRULayer:
    """One direction of a GRU's layer: gates r z n as PyTorch has them, in 3H."""

    from_input: Float[Tensor, "three_H D"]
    from_hidden: Float[Tensor, "three_H H"]
    input_bias: Float[Tensor, " three_H"]
    hidden_bias: Float[Tensor, " three_H"]


@dataclass(frozen=True)
class LSTMDirection:
    """One direction of an LSTM's layer, with what makes its hidden state narrower."""

    layer: LSTMLayer
    projection: Float[Tensor, "P H"] | None = None


@dataclass(frozen=True)
class Recurrent:
    """Layers of one direction, or of two side by side, the second from the end to the beginning."""

    layers: tuple[tuple[LSTMDirection | GRULayer, ...], ...]


Body = Transformer | Recurrent
HeadPart = Linear | Norm | Activation


def cast(value: T, to: torch.device | torch.dtype) -> T:
    """The same with all its tensors on another device or in another type."""
    found: Any = value
    if isinstance(value, Tensor):
        found = value.to(to)
    elif isinstance(value, LSTMLayer):
        found = LSTMLayer(*(cast(one, to) for one in value))
    elif isinstance(value, tuple):
        found = tuple(cast(one, to) for one in value)
    elif is_dataclass(value) and not isinstance(value, type):
        own = {field.name: cast(getattr(value, field.name), to) for field in fields(value)}
        found = replace(value, **own)
    same: T = found
    return same
