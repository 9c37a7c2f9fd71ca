"""Attention: each head's own match, one dimension for beginning and padding, one per position."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from espalier.compiler.heads import default_sharpness
from espalier.compiler.plain.places import FAR, Places
from espalier.nets.compiled import HeadWeights, RelativeBias


@dataclass(frozen=True)
class Attention:
    """Dense weights, heads x size of a head x width of the stream; `output` too."""

    query: Tensor
    query_bias: Tensor
    key: Tensor
    key_bias: Tensor
    value: Tensor
    output: Tensor


def attend(places: Places) -> Attention:
    """All heads of a layer."""
    found, below = silence(places), far_below(places)
    for place, head in enumerate(places.weights.heads):
        _write_head(places, found, place, head, below)
    return found


def silence(places: Places) -> Attention:
    """Heads that look everywhere and carry nothing."""
    heads = places.weights.heads
    sizes = [1]
    for head in heads:
        offsets = 0 if head.relative_bias is None else places.positions
        sizes += [head.query.shape[0] + 1 + offsets + (not places.exact), head.value.shape[0]]
    shape = max(1, len(places.head_names)), max(sizes)
    zeros, dtype = torch.zeros, places.dtype
    query, key, value, output = (zeros(*shape, places.width, dtype=dtype) for _ in range(4))
    query_bias, key_bias = (zeros(shape, dtype=dtype) for _ in range(2))
    return Attention(query, query_bias, key, key_bias, value, output)


def far_below(places: Places) -> float:
    """A power of two so large that, this far below any logit of the model, a weight is 0."""
    largest = 0.0
    for head in places.weights.heads:
        query, key = (places.spread(one, places.own).abs() for one in (head.query, head.key))
        logit = float(query.max() * key.max())
        if not places.exact:
            logit = FAR * float((query.norm(dim=1) * key.norm(dim=1)).sum())
        largest = max(largest, logit, abs(head.sink))
    enough = 2 * default_sharpness(places.dtype)
    while enough < 4 * largest:
        enough *= 2
    return enough


def _write_head(
    places: Places, found: Attention, place: int, head: HeadWeights, below: float
) -> None:
    own, matches = places.own, head.query.shape[0]
    found.query[place, :matches] = places.spread(head.query, own)
    found.key[place, :matches] = places.spread(head.key, own)
    found.query_bias[place, matches] = 1
    found.key[place, matches, places.bos] = head.sink
    found.key[place, matches, places.pad] = -below
    after = matches + 1
    if head.relative_bias is not None:
        allowed = _offsets(head.relative_bias, places.positions, below)
        dimensions = slice(places.position.start, places.position.stop)
        found.query[place, after : after + places.positions, dimensions] = allowed.T
        found.key[place, after : after + places.positions, dimensions] = torch.eye(
            places.positions, dtype=places.dtype
        )
        after += places.positions
    if not places.exact:
        # Beginning, padding and what has halted look at the beginning, and carry exactly nothing.
        silent = [d for d in (places.bos, places.pad, places.done) if d is not None]
        found.query[place, after, silent] = 4 * below
        found.key[place, after, places.bos] = 1
    carried = head.value.shape[0]
    found.value[place, :carried] = places.spread(head.value, own)
    output = head.output.dense().to(places.dtype)
    found.output[place, :carried, : places.bos] = output.T


def _offsets(bias: RelativeBias, positions: int, below: float) -> Tensor:
    """What is added to the logit of key j for query i."""
    here = torch.arange(positions)
    place = here[None, :] - here[:, None] - bias.first
    inside = (place >= 0) & (place < len(bias.table))
    table = torch.where(bias.table.isfinite(), bias.table, -below)
    return torch.where(inside, table[place.clamp(0, len(table) - 1)], -below)
