"""nn.TransformerEncoder, the Transformers that are trained here, and compiled programs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from espalier.errors import DataError, ModelError
from espalier.nets.compiled import MLP, FixedDepth
from espalier.nets.transformer import TransformerShape, Weights, encoder_bias
from espalier.networks.blocks import Attention, FeedForward, Linear, Norm, Sublayer, Transformer
from espalier.networks.modules import activation_of, linear_of, norm_of
from espalier.networks.network import Network
from espalier.networks.plain import run


class Trained(Protocol):
    """One of the Transformers of a run: stacked weights of one member, and their shape."""

    shape: TransformerShape
    weights: Weights


def read_encoder(encoder: nn.TransformerEncoder, *, causal: bool) -> Transformer:
    """The layers of torch's own encoder, norms first or last."""
    layers = []
    for number, layer in enumerate(encoder.layers):
        if type(layer) is not nn.TransformerEncoderLayer:
            raise ModelError(f"layers.{number} is a {type(layer).__name__}, which is not known")
        attention = _self_attention(layer.self_attn, causal=causal)
        mlp = FeedForward(
            linear_of(layer.linear1), linear_of(layer.linear2), activation_of(layer.activation)
        )
        norms = norm_of(layer.norm1), norm_of(layer.norm2)
        where = "before" if layer.norm_first else "after"
        bodies = ((attention,), mlp)
        layers.append(
            tuple(
                Sublayer(body, **{where: norm})  # type: ignore[arg-type]
                for body, norm in zip(bodies, norms, strict=True)
            )
        )
    return Transformer(tuple(layers), None if encoder.norm is None else norm_of(encoder.norm))


def _self_attention(module: nn.MultiheadAttention, *, causal: bool) -> Attention:
    if module.in_proj_weight is None or module.bias_k is not None or module.add_zero_attn:
        raise ModelError("its MultiheadAttention has keys of another width or added ones")
    weights = module.in_proj_weight.detach().chunk(3)
    bias = module.in_proj_bias
    biases = (None, None, None) if bias is None else bias.detach().chunk(3)
    query, key, value = (Linear(w, b) for w, b in zip(weights, biases, strict=True))
    heads = module.num_heads
    scale = (module.embed_dim // heads) ** -0.5
    output = linear_of(module.out_proj)
    return Attention(query, key, value, output, heads, heads, scale, causal=causal)


def read_trained(model: Trained) -> Network:
    """The encoder of a Transformer that was trained here; T5's layout."""
    shape, weights = model.shape, {name: w.detach() for name, w in model.weights.items()}
    if shape.decoder:
        raise ModelError("it has a decoder that attends to an encoder, which cannot be decomposed")
    if len(weights["embedding"]) != 1:
        raise ModelError(f"{len(weights['embedding'])} models are stacked; give one: models[0]")
    own = {name: tensor[0].float() for name, tensor in weights.items()}

    def matrix(name: str, layer: int) -> Linear:
        return Linear(own[f"encoder.{name}"][layer].T.contiguous())

    def scaled(name: str, layer: int) -> Norm:
        return Norm(own[f"encoder.{name}.scale"][layer], None, 1e-6, centred=False)

    layers, bias = [], None
    if "encoder.relative" in own:
        table = own["encoder.relative"][None]

        def bias(size: int) -> Tensor:
            every = torch.ones(1, 1, size, dtype=torch.bool, device=table.device)
            return encoder_bias(every, table)[0, 0]

    for number in range(shape.layers):
        mine = number % shape.own_layers
        parts = (matrix(f"self.{name}", mine) for name in ("query", "key", "value", "output"))
        scale = float(shape.head_width**-0.5)
        attention = Attention(
            *_four(parts), shape.heads, shape.heads, scale, causal=False, bias=bias
        )
        mlp = FeedForward(matrix("mlp.inner", mine), matrix("mlp.outer", mine), "gelu_tanh")
        layers.append(
            (Sublayer((attention,), scaled("self", mine)), Sublayer(mlp, scaled("mlp", mine)))
        )

    def embed(tokens: Tensor) -> Tensor:
        found = own["embedding"][tokens]
        return found + own["position"][: tokens.shape[1]] if "position" in own else found

    final = Norm(own["encoder.final_scale"], None, 1e-6, centred=False)
    head = (Linear(own["unembedding"].T.contiguous()),)
    name = type(model).__name__
    return Network(name, embed, Transformer(tuple(layers), final), head, shape.vocabulary)


def _four(parts: Iterable[Linear]) -> tuple[Linear, Linear, Linear, Linear]:
    query, key, value, output = parts
    return query, key, value, output


def read_compiled(module: FixedDepth) -> Network:
    """A compiled program, unrolled to a fixed depth; heads that average numbers are refused."""
    encoder = module.encoder
    attentions = tuple(
        _head(encoder.attention.head(name), name) for name in encoder.attention.names
    )
    mlp = encoder.mlp
    if not isinstance(mlp, MLP):
        raise ModelError(f"mlp is a {type(mlp).__name__}; the compiled one is expected")
    expansion = mlp.expansion
    parts = () if expansion is None else (expansion.inner, expansion.middle, expansion.outer)
    feedforward = FeedForward(
        _entries(mlp.first),
        _entries(mlp.second),
        "clip",
        expansion=tuple(_entries(part) for part in parts if part is not None),
    )
    attending = (Sublayer(attentions),) if attentions else ()  # a program may have no heads
    layer = (*attending, Sublayer(feedforward))
    body, head = Transformer((layer,) * module.layers), (_entries(encoder.unembedding),)
    vocabulary = encoder.token_embedding.num_embeddings
    return Network(type(module).__name__, encoder.embed, body, head, vocabulary)


def watched(net: Network, module: FixedDepth) -> Network:
    """The network, which refuses inputs on which a program halts before its layers are done.

    A compiled network stays as it is from then on, which a fixed number of layers cannot express.
    """
    encoder, embed = module.encoder, net.embed

    def checked(tokens: Tensor) -> Tensor:
        inputs = embed(tokens)
        valid = torch.ones_like(tokens, dtype=torch.bool)
        z, halted = inputs, torch.zeros_like(valid[:, 0])
        for done, state in enumerate(run(net, inputs)[1:]):
            z, halted = encoder.step(z, valid, halted, done)
            if not bool(torch.allclose(z, state, atol=1e-3)):
                raise DataError(
                    f"the program has halted before layer {done + 1} of {module.layers} on this "
                    f"input, and stays as it is; give model.fixed_depth({done})"
                )
        return inputs

    return replace(net, embed=checked)


def _head(head: Any, name: str) -> Attention:
    if head.mean is not None:
        raise ModelError(f"head {name!r} divides a sum by a count, which is no attention")
    parts = (_entries(part) for part in (head.query, head.key, head.value, head.output))
    bias, sink = _relative(head), head.sink.detach()
    return Attention(*_four(parts), 1, 1, 1.0, causal=head.causal, bias=bias, sink=sink)


def _entries(part: Any) -> Linear:
    return Linear(part.dense().detach(), None if part.bias is None else part.bias.detach())


def _relative(head: Any) -> Any:
    if head.bias is None:
        return None

    def bias(size: int) -> Tensor:
        places = torch.arange(size, device=head.sink.device)
        found: Tensor = head._bias_at(places[None, :] - places[:, None]).detach()
        return found[None]

    return bias
