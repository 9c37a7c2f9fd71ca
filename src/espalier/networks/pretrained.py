"""GPT-2, LLaMA-like and BERT-like models of transformers, read by the names of their modules.

transformers itself is not imported: a model brings its modules. Anything else in a block is refused
by name, and what its configuration changes shows when logits are compared.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from espalier.errors import ModelError, listed
from espalier.networks.blocks import (
    Activation,
    Attention,
    FeedForward,
    HeadPart,
    Linear,
    Sublayer,
    Transformer,
)
from espalier.networks.modules import activation_of, capture, linear_of, norm_of
from espalier.networks.network import Network


def read_pretrained(module: nn.Module) -> Network | None:
    """The network, if it is one of the three kinds."""
    base: Any = getattr(module, str(getattr(module, "base_model_prefix", "?")) or "?", module)
    found: tuple[Transformer, tuple[HeadPart, ...]] | None = None
    first: Any = None
    if isinstance(getattr(base, "h", None), nn.ModuleList):
        first, found = base.h[0], _gpt2(module, base)
    elif isinstance(getattr(base, "layers", None), nn.ModuleList) and hasattr(base, "rotary_emb"):
        first, found = base.layers[0], _llama(module, base)
    elif isinstance(getattr(getattr(base, "encoder", None), "layer", None), nn.ModuleList):
        first, found = base.encoder.layer[0], _bert(module, base)
    if found is None:
        return None
    size = module.get_input_embeddings().num_embeddings  # type: ignore[operator]
    embed = partial(capture, module, first)
    return Network(type(module).__name__, embed, *found, size)


def _only(block: nn.Module, known: str) -> None:
    """Refuse a block that has modules with parameters besides the known ones."""
    more = [
        f"{name} ({type(one).__name__})"
        for name, one in block.named_children()
        if name not in known.split() and list(one.parameters())
    ]
    if more:
        raise ModelError(
            f"{type(block).__name__} has {listed(more)}, which cannot be decomposed; "
            f"{known.split()} are expected"
        )


def _decoder(module: nn.Module, base: nn.Module) -> Linear:
    decoder = module.get_output_embeddings() if module is not base else None  # type: ignore[operator]
    if decoder is None:
        raise ModelError("it has no language-model head; give the model with its head")
    return linear_of(decoder)


def _gpt2(module: nn.Module, base: Any) -> tuple[Transformer, tuple[HeadPart, ...]]:
    config, layers = base.config, []
    heads = config.n_head
    for number, block in enumerate(base.h):
        _only(block, "ln_1 attn ln_2 mlp")
        joint, width = linear_of(block.attn.c_attn), config.n_embd
        query, key, value = (
            Linear(joint.weight[at : at + width], joint.bias[at : at + width])  # type: ignore[index]
            for at in (0, width, 2 * width)
        )
        scale = (width // heads) ** -0.5 if config.scale_attn_weights else 1.0
        if getattr(config, "scale_attn_by_inverse_layer_idx", False):
            scale /= number + 1
        output = linear_of(block.attn.c_proj)
        attention = Attention(query, key, value, output, heads, heads, scale, causal=True)
        mlp = FeedForward(
            linear_of(block.mlp.c_fc),
            linear_of(block.mlp.c_proj),
            activation_of(config.activation_function),
        )
        layers.append(_pre_norm(attention, mlp, block.ln_1, block.ln_2))
    return Transformer(tuple(layers), norm_of(base.ln_f)), (_decoder(module, base),)


def _pre_norm(
    attention: Attention, mlp: FeedForward, first: nn.Module, second: nn.Module
) -> tuple[Sublayer, ...]:
    return Sublayer((attention,), before=norm_of(first)), Sublayer(mlp, before=norm_of(second))


def _llama(module: nn.Module, base: Any) -> tuple[Transformer, tuple[HeadPart, ...]]:
    config, layers = base.config, []
    heads = config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // heads

    def rotary(size: int) -> tuple[Tensor, Tensor]:
        like = next(base.parameters())
        places = torch.arange(size, device=like.device)[None]
        cosine, sine = base.rotary_emb(like, position_ids=places)
        return cosine[0], sine[0]

    for number, block in enumerate(base.layers):
        _only(block, "self_attn mlp input_layernorm post_attention_layernorm")
        _only(block.self_attn, "q_proj k_proj v_proj o_proj")
        _only(block.mlp, "gate_proj up_proj down_proj")
        query, key, value, output = (
            linear_of(getattr(block.self_attn, f"{name}_proj")) for name in "qkvo"
        )
        groups = len(key.weight) // width
        attention = Attention(
            query, key, value, output, heads, groups, width**-0.5, causal=True,
            bias=_window(config, number), rotary=rotary,
        )  # fmt: skip
        mlp = FeedForward(
            linear_of(block.mlp.up_proj),
            linear_of(block.mlp.down_proj),
            activation_of(config.hidden_act),
            gate=linear_of(block.mlp.gate_proj),
        )
        layers.append(
            _pre_norm(attention, mlp, block.input_layernorm, block.post_attention_layernorm)
        )
    return Transformer(tuple(layers), norm_of(base.norm)), (_decoder(module, base),)


def _window(config: Any, number: int) -> Callable[[int], Tensor] | None:
    """What hides all but the last positions from a layer that attends to a sliding window."""
    width, kinds = getattr(config, "sliding_window", None), getattr(config, "layer_types", None)
    if not width or (kinds is not None and kinds[number] != "sliding_attention"):
        return None

    def bias(size: int) -> Tensor:
        places = torch.arange(size)
        far = places[:, None] - places >= width
        return torch.zeros(1, size, size).masked_fill(far, -torch.inf)

    return bias


def _bert(module: nn.Module, base: Any) -> tuple[Transformer, tuple[HeadPart, ...]]:
    config, layers = base.config, []
    heads = config.num_attention_heads
    scale = (config.hidden_size // heads) ** -0.5
    for block in base.encoder.layer:
        _only(block, "attention intermediate output")
        own, output = block.attention.self, block.attention.output
        _only(own, "query key value")
        query, key, value = (linear_of(getattr(own, name)) for name in ("query", "key", "value"))
        causal = bool(getattr(config, "is_decoder", False))
        attention = Attention(
            query, key, value, linear_of(output.dense), heads, heads, scale, causal=causal
        )
        mlp = FeedForward(
            linear_of(block.intermediate.dense),
            linear_of(block.output.dense),
            activation_of(config.hidden_act),
        )
        layers.append(
            (
                Sublayer((attention,), after=norm_of(output.LayerNorm)),
                Sublayer(mlp, after=norm_of(block.output.LayerNorm)),
            )
        )
    return Transformer(tuple(layers)), _bert_head(module, base)


def _bert_head(module: Any, base: nn.Module) -> tuple[HeadPart, ...]:
    """dense, activation, norm and decoder of a masked language model."""
    predictions = getattr(getattr(module, "cls", None), "predictions", None)
    transform = getattr(predictions, "transform", getattr(module, "lm_head", None))
    if transform is None:
        raise ModelError("it has no masked-language-model head; give the model with its head")
    norm = getattr(transform, "LayerNorm", getattr(transform, "layer_norm", None))
    act = activation_of(getattr(transform, "transform_act_fn", "gelu"))
    dense, decoder = linear_of(transform.dense), _decoder(module, base)
    return dense, Activation(act), norm_of(norm), decoder
