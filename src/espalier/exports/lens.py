"""TransformerLens: the same blocks as a native bridge, with its hooks, caches and patching."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from espalier.exports.source import Model, absent, plain_of
from espalier.nets import PlainTransformer

# Scores are divided by it, and TransformerLens refuses 1; queries are multiplied by it.
SCALE = 2.0

_ATTENTION = {"q": "query", "k": "key", "v": "value", "o": "output"}
_MLP = {"fc_in": "first", "fc_out": "second"}


def to_transformer_lens(
    model: Model, *, layers: int | None = None, positions: int | None = None
) -> Any:
    """A `TransformerBridge` that computes what `model.unroll(layers, positions)` does.

    Its tokens begin with `bridge.labels.bos_id`, and short rows end in `pad_id`; `bridge.labels`
    names the residual dimensions, heads, tokens, outputs and blocks. Blocks share no parameters.

    >>> import espalier as es, torch
    >>> model = es.compile_program(es.zoo.load("parity-sequential-relative").program)
    >>> bridge = to_transformer_lens(model, layers=3)             # doctest: +SKIP
    >>> tokens = torch.tensor([[bridge.labels.bos_id, 2, 1, 1]])  # doctest: +SKIP
    >>> logits, cache = bridge.run_with_cache(tokens)             # doctest: +SKIP
    """
    plain = plain_of(model, layers, positions)
    try:
        from transformer_lens.config import TransformerBridgeConfig
        from transformer_lens.model_bridge.sources import boot_native
    except ImportError as error:
        raise absent(error, "TransformerLens", "transformer-lens") from error
    sizes, dtype = plain.config, plain.embed.weight.dtype
    config = TransformerBridgeConfig(
        d_model=sizes.d_model,
        d_head=sizes.d_head,
        n_layers=len(sizes.plan),
        n_ctx=sizes.n_ctx,
        n_heads=sizes.n_heads,
        d_mlp=sizes.d_mlp,
        d_vocab=sizes.d_vocab,
        d_vocab_out=sizes.d_vocab_out,
        act_fn="relu",
        attention_dir="causal" if sizes.causal else "bidirectional",
        normalization_type=None,
        attn_scale=SCALE,
        init_weights=False,
        dtype=dtype,
    )
    bridge = boot_native(config, dtype=dtype, model_name="espalier")
    missing = bridge.load_state_dict(native_state(plain), strict=False)
    assert not missing.unexpected_keys, missing.unexpected_keys
    bridge.labels = sizes
    return bridge


def native_state(plain: PlainTransformer) -> dict[str, torch.Tensor]:
    """The parameters under the names of TransformerLens' native model; absent biases are 0."""
    state = {
        "tok_embed.weight": plain.embed.weight,
        "pos.weight": plain.pos_embed.weight,
        "head.weight": plain.unembed.weight,
    }
    for number, block in enumerate(plain.blocks):
        for part, names in (("attn", _ATTENTION), ("mlp", _MLP)):
            for theirs, ours in names.items():
                linear = block.get_submodule(f"{part}.{ours}")
                assert isinstance(linear, nn.Linear)
                factor = SCALE if theirs == "q" else 1.0
                bias = (
                    linear.weight.new_zeros(len(linear.weight))
                    if linear.bias is None
                    else linear.bias
                )
                state[f"layers.{number}.{part}.{theirs}.weight"] = linear.weight * factor
                state[f"layers.{number}.{part}.{theirs}.bias"] = bias * factor
    return {name: tensor.detach() for name, tensor in state.items()}
