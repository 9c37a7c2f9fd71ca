"""One member of stacked language models as a network's body, sharing its weights."""

from __future__ import annotations

from torch import Tensor

from espalier.errors import ModelError
from espalier.nets.language import CausalShape, GRUShape, stacked
from espalier.nets.lstm import LSTMShape, StackedWeights
from espalier.networks.blocks import (
    Attention,
    Body,
    FeedForward,
    GRULayer,
    Linear,
    Norm,
    Recurrent,
    Sublayer,
    Transformer,
)

EPS = 1e-5  # nn.LayerNorm's


def member_body(weights: StackedWeights, shape: LSTMShape, index: int) -> Body:
    """The body of a GRU or a causal Transformer; `nets.language.stacked` runs all at once."""
    own = {name: tensor[index].detach() for name, tensor in weights.items()}
    match shape:
        case CausalShape():
            layers = tuple(_layer(own, f"body.layers.{n}.", shape) for n in range(shape.layers))
            return Transformer(layers, _norm(own, "body.norm"))
        case GRUShape():
            found = (GRULayer(*stacked.gru_weights(own, n)) for n in range(shape.layers))
            return Recurrent(tuple((layer,) for layer in found))
    raise ModelError(f"a {type(shape).__name__} is no GRU's and no Transformer's")


def _layer(own: dict[str, Tensor], at: str, shape: CausalShape) -> tuple[Sublayer, Sublayer]:
    parts = zip(
        own[f"{at}self_attn.in_proj_weight"].chunk(3),
        own[f"{at}self_attn.in_proj_bias"].chunk(3),
        strict=True,
    )
    query, key, value = (Linear(weight, bias) for weight, bias in parts)
    output = _linear(own, f"{at}self_attn.out_proj")
    scale = float(shape.head_width**-0.5)
    heads = shape.heads
    attention = Attention(query, key, value, output, heads, heads, scale, causal=True)
    mlp = FeedForward(_linear(own, f"{at}linear1"), _linear(own, f"{at}linear2"), "gelu")
    return Sublayer((attention,), _norm(own, f"{at}norm1")), Sublayer(mlp, _norm(own, f"{at}norm2"))


def _linear(own: dict[str, Tensor], name: str) -> Linear:
    return Linear(own[f"{name}.weight"], own[f"{name}.bias"])


def _norm(own: dict[str, Tensor], name: str) -> Norm:
    return Norm(own[f"{name}.weight"], own[f"{name}.bias"], EPS)
