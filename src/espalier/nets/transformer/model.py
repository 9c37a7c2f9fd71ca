"""Transformers to be trained, many at once: weights stacked along a first axis E.

The layout is T5's (Raffel et al. 2020): root-mean-square norms before every sub-layer, no biases
of the products, one table of relative position biases for all layers of a stack of layers, GeLU by
its tanh formula. An encoder alone, or an encoder and a decoder; layers may share their weights.

E members, B sequences, N (and M) positions, D residual, H heads, K width of a head.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal, get_args

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from espalier.errors import ModelError, check_whole, is_number
from espalier.nets.room import refuse_beyond_memory
from espalier.nets.transformer.biases import (
    BUCKETS,
    decoder_bias,
    encoder_bias,
    mask_across,
    relative_bias,
    seen_within,
)
from espalier.nets.transformer.dropout import Dropout
from espalier.nets.transformer.embedding import decoder_positions, embed, refuse_longer
from espalier.nets.transformer.layer_launches import CELLS
from espalier.nets.transformer.layer_stack import (
    apart,
    fits,
    is_narrow,
    run_layers,
    side_by_side,
    sub_layers,
)
from espalier.nets.transformer.sublayers import (
    Stream,
    attend_across,
    attend_within,
    feed_forward,
    norm,
    product,
    through,
)

Weights = dict[str, Tensor]
Positions = Literal["relative", "absolute"]
# Sees the residual stream after a sub-layer: its layer, "attention" or "mlp", the stream.
Watch = Callable[[int, str, Tensor], None]
# How narrow and wide Transformers are trained on CUDA: by kernels, or operation by operation.
Layers = Literal["kernels", "one by one"]
LAYERS: Layers = "kernels"


@dataclass(frozen=True)
class TransformerShape:
    """Sizes of one Transformer; `decoder` says whether there is one, of as many layers.

    `positions` is the encoder's; a decoder's are relative. `longest` bounds absolute ones.
    `first_biases` is the spread of relative biases before training, T5's if it is None.
    """

    vocabulary: int
    outputs: int
    width: int = 512
    hidden: int = 2048
    heads: int = 6
    head_width: int = 64
    layers: int = 8
    shared: bool = False
    positions: Positions = "relative"
    longest: int = 64
    decoder: bool = False
    first_biases: float | None = None

    def __post_init__(self) -> None:
        sizes = ("vocabulary", "outputs", "width", "hidden", "heads", "head_width", "layers")
        check_whole(self, sizes, error=ModelError)
        if self.positions not in ("relative", "absolute"):
            raise ModelError(f"positions are {self.positions!r}; use 'relative' or 'absolute'")
        spread = self.first_biases
        if spread is not None and (not is_number(spread) or spread < 0):
            raise ModelError(f"first_biases is {spread!r}; a spread is 0 or more")

    @property
    def own_layers(self) -> int:
        """Layers with weights of their own."""
        return 1 if self.shared else self.layers

    @property
    def numbers(self) -> int:
        """How many weights there are, but for norms and position biases."""
        attentions = 3 if self.decoder else 1
        inner = self.heads * self.head_width
        layer = self.width * (4 * attentions * inner + 2 * self.hidden * (1 + self.decoder))
        places = self.longest if self.positions == "absolute" else 0
        return self.own_layers * layer + self.width * (self.vocabulary + self.outputs + places)

    def in_words(self) -> str:
        """Its sizes, for a message."""
        names = ("width", "hidden", "heads", "head_width", "layers")
        return ", ".join(f"{name} {getattr(self, name):,}" for name in names)

    def to_dict(self) -> dict[str, object]:
        """The fields by name."""
        return asdict(self)


def random_transformers(
    shape: TransformerShape, seeds: Sequence[int], *, batch: int = 1
) -> Weights:
    """First weights for each seed, as in T5: normal, variance 1 / fan-in; norms 1.

    Position biases have variance 1 over the mean of fan-in and fan-out, unless the shape says
    otherwise. From 0 a step that is relative to the size of what it changes would hardly move them.
    Refused where the weights, or what a step on a `batch` stores, do not fit into memory.
    """
    whose = f"training seeds: {len(seeds):,}, {shape.in_words()}, batch {batch:,},"
    refuse_beyond_memory(whose, len(seeds) * (shape.numbers + batch * shape.layers * shape.width))
    made = [_random(shape, torch.Generator().manual_seed(seed)) for seed in seeds]
    return {name: torch.stack([own[name] for own in made]) for name in made[0]}


def _random(shape: TransformerShape, source: torch.Generator) -> Weights:
    def normal(*size: int, fan: int) -> Tensor:
        return torch.randn(*size, generator=source) / math.sqrt(fan)

    width, inner = shape.width, shape.heads * shape.head_width
    weights = {
        "embedding": normal(shape.vocabulary, width, fan=1),
        "unembedding": normal(width, shape.outputs, fan=width),
    }
    if shape.positions == "absolute":
        weights["position"] = normal(shape.longest, width, fan=1)
    for stack in ("encoder", "decoder") if shape.decoder else ("encoder",):
        attentions = ("self", "cross") if stack == "decoder" else ("self",)
        layers = shape.own_layers
        for kind in attentions:
            for part in ("query", "key", "value"):
                weights[f"{stack}.{kind}.{part}"] = normal(layers, width, inner, fan=width)
            weights[f"{stack}.{kind}.output"] = normal(layers, inner, width, fan=inner)
            weights[f"{stack}.{kind}.scale"] = torch.ones(layers, width)
        weights[f"{stack}.mlp.inner"] = normal(layers, width, shape.hidden, fan=width)
        weights[f"{stack}.mlp.outer"] = normal(layers, shape.hidden, width, fan=shape.hidden)
        weights[f"{stack}.mlp.scale"] = torch.ones(layers, width)
        weights[f"{stack}.final_scale"] = torch.ones(width)
        if stack == "decoder" or shape.positions == "relative":
            spread = shape.first_biases
            if spread is None:
                spread = math.sqrt(2 / (BUCKETS + shape.heads))
            weights[f"{stack}.relative"] = spread * normal(BUCKETS, shape.heads, fan=1)
    return weights


@dataclass(frozen=True, eq=False)
class Encoded:
    """What an encoder made of its input, and where there was any; `parts` inputs to a row."""

    stream: Stream
    valid: Bool[Tensor, "E B N"]
    parts: int = 1

    def beside(self, parts: int) -> Encoded:
        """Every `parts` rows side by side as one."""
        stream, valid = (
            tensor.unflatten(1, (-1, parts)).flatten(2, 3) for tensor in (self.stream, self.valid)
        )
        return Encoded(stream, valid, parts)


def encode(
    weights: Weights,
    shape: TransformerShape,
    tokens: Int[Tensor, "E B N"],
    *,
    lengths: Int[Tensor, "E B"],
    layers: int | None = None,
    watch: Watch | None = None,
    dropout: Dropout | None = None,
) -> Encoded:
    """The encoder's stream after its last norm; `layers` overrides the shape's."""
    after = through if dropout is None else dropout.after
    places = torch.arange(tokens.shape[2], device=tokens.device)
    valid = places < lengths.unsqueeze(-1)
    z = through(embed, weights["embedding"], tokens)
    if shape.positions == "absolute":
        refuse_longer(tokens, shape.longest)
        z = z + weights["position"][:, None, : tokens.shape[2]].float()
    z = z if dropout is None else dropout(z)
    if watch is None and dropout is None and layers is None and _as_kernels(weights, shape, z):
        z = _encoder_layers(weights, shape, z, valid)
        return Encoded(through(norm, z, weights["encoder.final_scale"]), valid)
    bias = through(encoder_bias, valid, weights.get("encoder.relative"))
    own = _by_layer(weights, "encoder")
    for layer in range(shape.layers if layers is None else layers):
        mine = own[layer % len(own)]
        z = after(attend_within, z, *mine["self"], bias, shape.heads)
        if watch is not None:
            watch(layer, "attention", z)
        z = after(feed_forward, z, *mine["mlp"])
        if watch is not None:
            watch(layer, "mlp", z)
    return Encoded(through(norm, z, weights["encoder.final_scale"]), valid)


def decode(
    weights: Weights,
    shape: TransformerShape,
    tokens: Int[Tensor, "E B M"],
    encoded: Encoded,
    *,
    parts: Int[Tensor, "B M"] | None = None,
    dropout: Dropout | None = None,
) -> Float[Tensor, "E B M O"]:
    """Logits of what comes after each token of the outputs so far.

    A row may hold several outputs: a token sees those of its own part, and that part's input.
    Weights with `decoder.position` in place of `decoder.relative` have absolute positions.
    """
    after = through if dropout is None else dropout.after
    z = through(embed, weights["embedding"], tokens)
    relative = weights.get("decoder.relative")
    narrow = dropout is None and relative is not None and _as_kernels(weights, shape, z)
    if narrow and encoded.valid.shape[2] <= CELLS:
        z = _decoder_layers(weights, shape, z, encoded, parts)
        return read_out(weights, through(norm, z, weights["decoder.final_scale"]))
    if relative is None:
        z = z + decoder_positions(weights["decoder.position"], tokens, parts)
        relative = z.new_zeros(len(z), BUCKETS, 1)
    z = z if dropout is None else dropout(z)
    bias = through(decoder_bias, relative, tokens.shape[2], parts)
    across = through(mask_across, encoded.valid, parts, encoded.parts)
    own = _by_layer(weights, "decoder")
    for layer in range(shape.layers):
        mine = own[layer % len(own)]
        z = after(attend_within, z, *mine["self"], bias, shape.heads)
        z = after(attend_across, z, encoded.stream, *mine["cross"], across, shape.heads)
        z = after(feed_forward, z, *mine["mlp"])
    return read_out(weights, through(norm, z, weights["decoder.final_scale"]))


def _as_kernels(weights: Weights, shape: TransformerShape, stream: Stream) -> bool:
    """Whether all layers are run at once; reading, which has many sizes, goes one by one."""
    if one_by_one() or not torch.is_grad_enabled():
        return False
    return is_narrow(shape, weights["embedding"].dtype, stream.device) and fits(stream)


def one_by_one() -> bool:
    """Whether kernels for all layers at once are switched off."""
    if LAYERS not in get_args(Layers):
        raise ModelError(f"LAYERS is {LAYERS!r}; use 'kernels' or 'one by one'")
    return LAYERS == "one by one"


def _encoder_layers(
    weights: Weights, shape: TransformerShape, z: Stream, valid: Bool[Tensor, "E B N"]
) -> Stream:
    """The stream after all layers, several inputs to a row."""
    rows, mask = through(side_by_side, z, valid)
    table = weights.get("encoder.relative")
    found = run_layers(
        rows,
        sub_layers(weights, "encoder", shape.heads),
        layers=shape.layers,
        head_width=shape.head_width,
        mask=mask,
        relative=None if table is None else _biases(table, rows.shape[2], both_ways=True),
    )
    return apart(found, z)


def _decoder_layers(
    weights: Weights,
    shape: TransformerShape,
    z: Stream,
    encoded: Encoded,
    parts: Int[Tensor, "B M"] | None,
) -> Stream:
    """The stream after all layers."""
    size = z.shape[2]
    across = through(mask_across, encoded.valid, parts, encoded.parts)[:, :, 0]
    return run_layers(
        z,
        sub_layers(weights, "decoder", shape.heads),
        layers=shape.layers,
        head_width=shape.head_width,
        mask=seen_within(size, parts, z.device),
        relative=_biases(weights["decoder.relative"], size, both_ways=False),
        asked=encoded.stream,
        across=across.expand(-1, -1, size, -1),
    )


def _biases(table: Float[Tensor, "E K H"], size: int, *, both_ways: bool) -> Tensor:
    return through(relative_bias, table, size, both_ways)[:, 0]


def read_out(weights: Weights, stream: Float[Tensor, "E B N D"]) -> Float[Tensor, "E B N O"]:
    """Logits, in float32."""
    return product(stream, weights["unembedding"]).float()


@torch.no_grad()
def cast(weights: Mapping[str, Tensor], dtype: torch.dtype) -> Weights:
    """The weights in another type, all at once; no gradients come back through it."""
    found = {name: torch.empty_like(tensor, dtype=dtype) for name, tensor in weights.items()}
    torch._foreach_copy_(list(found.values()), list(weights.values()))
    return found


def _by_layer(weights: Weights, stack: str) -> list[dict[str, tuple[Tensor, ...]]]:
    """Every layer's weights by sub-layer, in the order in which its function takes them.

    Matrices that are applied to the same values are concatenated, for one product; splitting all
    layers in one operation lets gradients be joined in one.
    """

    def beside(kind: str, *parts: str) -> Tensor:
        return torch.cat([weights[f"{stack}.{kind}.{part}"] for part in parts], -1)

    def alone(kind: str, *parts: str) -> list[Tensor]:
        return [weights[f"{stack}.{kind}.{part}"] for part in parts]

    whole = {
        "self": [*alone("self", "scale"), beside("self", "query", "key", "value")],
        "mlp": alone("mlp", "scale", "inner", "outer"),
    }
    whole["self"] += alone("self", "output")
    if f"{stack}.cross.scale" in weights:
        whole["cross"] = [*alone("cross", "scale", "query"), beside("cross", "key", "value")]
        whole["cross"] += alone("cross", "output")
    layers = whole["mlp"][0].shape[1]
    # Of one layer a view: gradients of several are put together, which is a copy.
    taken = {
        kind: [[t.squeeze(1)] if layers == 1 else t.unbind(1) for t in parts]
        for kind, parts in whole.items()
    }
    apart = {kind: list(zip(*parts, strict=True)) for kind, parts in taken.items()}
    return [{kind: parts[n] for kind, parts in apart.items()} for n in range(layers)]
