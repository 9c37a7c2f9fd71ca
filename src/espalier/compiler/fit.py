"""Whether weights are of the kind that a program is compiled to: shapes, types, places, halting."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from espalier.compiler.expansion import AVERAGED
from espalier.compiler.feedforward import unit_labels
from espalier.compiler.heads import mean_of
from espalier.compiler.layout import Layout
from espalier.errors import ModelError
from espalier.language import ByPosition
from espalier.nets.compiled import FeedForwardWeights, HeadWeights, Weights, to_tensors


def misfits(weights: Weights, layout: Layout) -> Iterator[str]:
    """What is not as in a Transformer for this program; numbers may be any."""
    program, width = layout.program, layout.stream_width
    positions = None
    if any(isinstance(initial, ByPosition) for initial in program.initial.values()):
        positions = (program.position_range, width)
    yield from _wrong_shapes(
        {
            "token_embedding": (weights.token_embedding, (program.input_range, width)),
            "position_embedding": (weights.position_embedding, positions),
            "unembedding": (weights.unembedding, (program.output.size, width)),
        }
    )
    yield from _misfits_of_mlp(weights.feedforward, layout)
    names = layout.head_names
    if len(weights.heads) != len(names):
        yield f"there are {len(weights.heads)} heads, not {len(names)}"
    for place, (head, name) in enumerate(zip(weights.heads, names, strict=False)):
        yield from _misfits_of_head(f"heads.{place}", head, layout, name)
    halt = program.halt
    dimension = None if halt is None else layout.dimension(halt.variable, halt.value)
    if (None if weights.halt is None else weights.halt.dimension) != dimension:
        yield f"it halts by {weights.halt}, not by dimension {dimension}"
    elif weights.halt is not None:
        asked = None if layout.basis is None else (width,)
        yield from _wrong_shapes({"halt.direction": (weights.halt.direction, asked)})
    if weights.causal is not program.causal:
        yield f"causal is {weights.causal}, not {program.causal}"
    if weights.longest is not None and weights.longest < 1:
        yield f"longest is {weights.longest}"
    yield from _wrong_types(weights)


def dtype_named(name: str) -> torch.dtype:
    """The type of a stream by the name that it prints; ModelError if there is none."""
    for dtype in AVERAGED:
        if str(dtype) == name:
            return dtype
    raise ModelError(f"its dtype is {name[:40]!r}, not one of {', '.join(map(str, AVERAGED))}")


def _misfits_of_mlp(mlp: FeedForwardWeights, layout: Layout) -> Iterator[str]:
    units, width, features = len(unit_labels(layout)), layout.stream_width, layout.features
    yield from _wrong_shapes(
        {
            "feedforward.w1": (mlp.w1, (units, width + features)),
            "feedforward.b1": (mlp.b1, (units,)),
            "feedforward.w2": (mlp.w2, (width, units)),
        }
    )
    expansion = mlp.expansion
    if expansion is None:
        if features:
            yield "feedforward.expansion is absent"
        return
    # Without a layer in the middle the outer one reads the inner.
    inner, hidden = expansion.inner.shape[0], expansion.outer.shape[1]
    middle = None if expansion.middle is None else (hidden, inner)
    if middle is None:
        hidden = inner
    yield from _wrong_shapes(
        {
            "feedforward.expansion.inner": (expansion.inner, (inner, width)),
            "feedforward.expansion.inner_bias": (expansion.inner_bias, (inner,)),
            "feedforward.expansion.middle": (expansion.middle, middle),
            "feedforward.expansion.middle_bias": (expansion.middle_bias, middle and middle[:1]),
            "feedforward.expansion.outer": (expansion.outer, (features, hidden)),
            "feedforward.expansion.outer_bias": (expansion.outer_bias, (features,)),
        }
    )


def _misfits_of_head(path: str, weights: HeadWeights, layout: Layout, name: str) -> Iterator[str]:
    matches, carried, width = weights.query.shape[0], weights.value.shape[0], layout.stream_width
    yield from _wrong_shapes(
        {
            f"{path}.query": (weights.query, (matches, width)),
            f"{path}.key": (weights.key, (matches, width)),
            f"{path}.value": (weights.value, (carried, width)),
            f"{path}.output": (weights.output, (width, carried)),
        }
    )
    if weights.mean != mean_of(layout, name):
        yield f"{path}.mean is {weights.mean}, not {mean_of(layout, name)}"
    if name not in layout.program.heads:  # a distractor may look anywhere
        return
    bias, asked = weights.relative_bias, layout.program.heads[name].relative_positions
    if bias is not None and bias.table.dim() != 1:
        yield f"{path}.relative_bias.table has shape {tuple(bias.table.shape)}"
    elif (None if bias is None else frozenset(bias.offsets)) != asked:
        shown = "any" if asked is None else sorted(asked)[:8]
        yield f"{path}.relative_bias is not of relative positions {shown}"


def _wrong_shapes(found: dict[str, tuple[object, object]]) -> Iterator[str]:
    for name, (tensor, shape) in found.items():
        given = None if tensor is None else tuple(getattr(tensor, "shape"))  # noqa: B009
        if given != shape:
            yield f"{name} has shape {given}, not {shape}"


def _wrong_types(weights: Weights) -> Iterator[str]:
    """The stream's type for all numbers, but thresholds and biases keep float32 at least."""
    narrow = weights.token_embedding.dtype
    if narrow not in AVERAGED:
        yield f"token_embedding is {narrow}, not one of {', '.join(map(str, AVERAGED))}"
    wide = torch.promote_types(narrow, torch.float32) if narrow.is_floating_point else narrow
    expansion = weights.feedforward.expansion
    thresholds = wide if expansion is None else expansion.inner.values.dtype
    if thresholds not in (wide, torch.float64):
        yield f"feedforward.expansion.inner is {thresholds}, not {wide} or torch.float64"
    for name, tensor in to_tensors(weights)[0].items():
        expected = wide if name.endswith("relative_bias.table") else narrow
        expected = thresholds if "expansion" in name else expected
        if not name.endswith((".rows", ".columns")) and tensor.dtype != expected:
            yield f"{name} is {tensor.dtype}, not {expected}"
