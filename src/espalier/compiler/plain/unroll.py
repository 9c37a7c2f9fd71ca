"""The entry point: a compiled model in, a textbook Transformer out."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from espalier.compiler.layout import Layout
from espalier.compiler.plain.checks import check_means
from espalier.compiler.plain.halting import attentions
from espalier.compiler.plain.heads import Attention, silence
from espalier.compiler.plain.means import with_softmax_means
from espalier.compiler.plain.mlps import Units, steps
from espalier.compiler.plain.places import Places
from espalier.errors import CompileError
from espalier.nets import PlainBlock, PlainConfig, PlainTransformer, refuse_beyond_memory
from espalier.nets.compiled import Weights

# Positions of a textbook Transformer for a program that takes inputs of any length.
POSITIONS = 64

LAYER = 100  # numbers' worth of memory that a layer takes at least, as names of its blocks

_Kind = tuple[Attention, Units]


def unroll(
    layout: Layout, weights: Weights, *, layers: int, positions: int | None, exact: bool
) -> PlainTransformer:
    """A Transformer equal to `layers` layers of the compiled one on up to `positions` tokens."""
    is_anew = bool(layout.flags) and exact and layout.realism is None
    positions = _check(layout, None if is_anew else weights, layers, positions)
    if is_anew:
        layout, weights = with_softmax_means(layout, weights, positions)
    elif layout.flags:
        check_means(layout, weights, positions, edited=not exact)
    places = Places.of(layout, weights, positions, exact=exact and layout.realism is None)
    kinds: list[_Kind] = []
    plan, names = [], []
    layer = [_layer(places, kinds, first=first) for first in (True, False)]
    for number in range(layers):
        for kind, name in layer[number > 0]:
            plan.append(kind)
            names.append(f"layer {number}: {name}")
    return _assemble(places, kinds, plan, names)


def _check(layout: Layout, weights: Weights | None, layers: int, positions: int | None) -> int:
    most = layout.program.position_range
    positions = (most or POSITIONS) if positions is None else positions
    for name, value, least in (("layers", layers, 0), ("positions", positions, 1)):
        if type(value) is not int or value < least:
            raise CompileError(f"{name} is {value!r}; a whole number from {least} on is expected")
    if most is not None and positions > most:
        raise CompileError(f"positions is {positions}, and position_range of the program {most}")
    if weights is not None and weights.longest is not None and positions > weights.longest:
        raise CompileError(
            f"positions is {positions}; this model takes {weights.longest} at most: {weights.why}"
        )
    _check_room(layout, layers, positions)
    return positions


def _check_room(layout: Layout, layers: int, positions: int) -> None:
    """Refuse what takes too much memory: relative heads have a dimension for every position."""
    relative = any(head.relative_positions is not None for head in layout.program.heads.values())
    numbers = layers * LAYER + positions * (positions if relative else layout.width)
    what = f"a network of {layers:,} layers and {positions:,} positions"
    refuse_beyond_memory(what, numbers, error=CompileError)


def _layer(places: Places, kinds: list[_Kind], *, first: bool) -> list[tuple[int, str]]:
    """The numbers of a layer's blocks among `kinds`, which gets those that are new."""
    found, given = [], attentions(places, first=first)
    for place, (name, units) in enumerate(steps(places, first=first)):
        kind = (given[place] if place < len(given) else silence(places)), units
        same = [n for n, known in enumerate(kinds) if _tensors_equal(known, kind)]
        if not same:
            kinds.append(kind)
        number = same[0] if same else len(kinds) - 1
        found.append((number, f"heads, {name}" if place == len(given) - 1 else name))
    return found


def _tensors_equal(one: _Kind, other: _Kind) -> bool:
    pairs = zip(one, other, strict=True)
    return all(
        torch.equal(a, b)
        for mine, theirs in pairs
        for a, b in zip(vars(mine).values(), vars(theirs).values(), strict=True)
    )


def _assemble(
    places: Places, kinds: list[_Kind], plan: list[int], names: list[str]
) -> PlainTransformer:
    program, weights = places.layout.program, places.weights
    heads, size, width = kinds[0][0].query.shape
    tokens = program.vocabulary or tuple(map(str, range(program.input_range)))
    config = PlainConfig(
        d_model=width,
        n_heads=heads,
        d_head=size,
        d_mlp=max(1, *(len(units.bias) for _, units in kinds)),
        d_vocab=program.input_range + 2,
        d_vocab_out=program.output.size,
        n_ctx=places.positions + 1,
        plan=tuple(plan),
        causal=weights.causal,
        residual_labels=tuple(places.labels),
        head_labels=places.head_names or ("none",),
        token_labels=(*tokens, "<pad>", "<bos>"),
        output_labels=tuple(f"{program.output_name} = {v}" for v in program.output.values),
        block_labels=tuple(names),
    )
    made = PlainTransformer(config).to(places.dtype)
    with torch.no_grad():
        _embed(places, made)
        made.unembed.weight.copy_(places.spread(weights.unembedding, places.own))
        for kind, place in {kind: place for place, kind in enumerate(plan)}.items():
            block = made.blocks[place]
            assert isinstance(block, PlainBlock)
            _fill(block, kinds[kind])
    return made


def _embed(places: Places, made: PlainTransformer) -> None:
    own, config, weights = places.bos, made.config, places.weights
    table, position = made.embed.weight.zero_(), made.pos_embed.weight.zero_()
    table[: config.pad_id, :own] = weights.token_embedding.to(places.dtype)
    table[config.pad_id, places.pad] = table[config.bos_id, places.bos] = 1
    if weights.position_embedding is not None:
        position[1:, :own] = weights.position_embedding[: places.positions].to(places.dtype)
    if places.position:
        position[1:, places.position.start : places.position.stop].fill_diagonal_(1)


def _fill(block: PlainBlock, kind: _Kind) -> None:
    attention, units = kind
    attn, mlp = block.attn, block.mlp
    _copy(attn.query, attention.query.flatten(0, 1), attention.query_bias.flatten())
    _copy(attn.key, attention.key.flatten(0, 1), attention.key_bias.flatten())
    _copy(attn.value, attention.value.flatten(0, 1))
    _copy(attn.output, attention.output.flatten(0, 1).T)
    _copy(mlp.first, units.first, units.bias)
    _copy(mlp.second, units.second.T)


def _copy(linear: nn.Linear, weight: Tensor, bias: Tensor | None = None) -> None:
    """Write a matrix into the first rows and columns of a linear map."""
    linear.weight[: weight.shape[0], : weight.shape[1]] = weight
    if bias is not None:
        linear.bias[: len(bias)] = bias
