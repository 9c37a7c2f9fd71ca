"""MLPs of ReLUs, one for each step of a layer: thresholds, comparisons, features, rules.

A step leaves its results in dimensions of their own, which the next one reads and clears.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from espalier.compiler.plain.places import FAR, Places, copies

# How steeply halting is decided around one half, where amounts are not 0 or 1.
STEEP = 2.0**10


@dataclass(frozen=True)
class Units:
    """relu(first x + bias), and what each unit adds to the stream (a row of `second`)."""

    first: Tensor
    bias: Tensor
    second: Tensor

    def __add__(self, other: Units) -> Units:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Units(*(torch.cat(pair) for pair in pairs))


def steps(places: Places, *, first: bool) -> list[tuple[str, Units]]:
    """The MLPs of one layer, and what each is for; `first` for the first layer of a run."""
    found, expansion = [], places.weights.feedforward.expansion
    if places.done is not None and not places.exact:
        found.append(("halting", _decide(places, first=first)))
    if expansion is not None:
        read: range | list[int] = copies(places.layout, expansion) or []
        cleared: range = range(0)
        if places.inner:
            reads = places.spread(expansion.inner, places.own)
            found.append(("thresholds", _clip(reads, expansion.inner_bias, places.inner)))
            read = cleared = places.inner
        if expansion.middle is not None:
            assert expansion.middle_bias is not None
            reads = places.spread(expansion.middle, read)
            units = _clip(reads, expansion.middle_bias, places.middle) + _clear(places, cleared)
            found.append(("comparisons", units))
            read = cleared = places.middle
        reads = places.spread(expansion.outer, read)
        units = _clip(reads, expansion.outer_bias, places.features) + _clear(places, cleared)
        found.append(("features", units))
    return [*found, ("rules", _rules(places, first=first))]


def _decide(places: Places, *, first: bool) -> Units:
    """`done` as 0 or 1, whatever amount between it was found by; never in the first layer."""
    assert places.done is not None
    place = range(0) if first else range(places.done, places.done + 1)
    found = _clear(places, place)
    if first:
        return found
    reads = places.halted[None] if places.weights.causal else found.first
    made = _clip(STEEP * reads, torch.tensor([0.5 - STEEP / 2]), place)
    return made if places.weights.causal else made + found


def _rules(places: Places, *, first: bool) -> Units:
    mlp = places.weights.feedforward
    reads = places.spread(mlp.w1, places.own, places.features)
    bias = mlp.b1.to(places.dtype)
    writes = torch.zeros(len(reads), places.width, dtype=places.dtype)
    writes[:, : places.bos] = mlp.w2.dense().T.to(places.dtype)
    off = [places.bos, places.pad]
    if places.done is not None:
        off.append(places.done)
    elif places.weights.halt is not None and not first:
        off.append(places.weights.halt.dimension)
    strongest = float((reads.clamp(min=0).sum(1) + bias).max()) if len(bias) else 0.0
    gated = torch.tensor(_is_gated(places), dtype=torch.bool)
    if not places.exact:
        # Amounts are not known to be 0 or 1, and resets not to leave what was there before.
        strongest = FAR * float(reads.abs().sum() + bias.abs().sum())
        gated = torch.ones_like(gated)
    gate = 2.0 ** math.ceil(math.log2(max(strongest, 1.0) + 1))
    for dimension in off:
        # A rule may read the halt dimension itself.
        reads[gated, dimension] -= gate
    units = Units(reads, bias, writes)
    if not places.exact:
        units += Units(reads, bias - 1, -writes)
    extra = [*places.features, *([] if places.done is None else [places.done])]
    return units + _clear(places, extra)


def _is_gated(places: Places) -> list[bool]:
    """For each unit, whether it belongs to a rule; resets and their kind always work."""
    layout, rules = places.layout, places.layout.program.rules
    found = [not rule.is_reset for rule in rules]
    found += [False for name in layout.flags for _ in layout.dimensions(name) for _ in "+-"]
    return found + [True] * (len(places.weights.feedforward.b1) - len(found))


def _clip(reads: Tensor, bias: Tensor, writes: range) -> Units:
    """min(max(x, 0), 1) as relu(x) - relu(x - 1)."""
    bias = bias.to(reads.dtype)
    second = torch.zeros_like(reads)
    second[torch.arange(len(writes)), torch.tensor(writes)] = 1
    return Units(reads, bias, second) + Units(reads, bias - 1, -second)


def _clear(places: Places, dimensions: Iterable[int]) -> Units:
    """Takes away what is there, which is not negative."""
    chosen = torch.tensor(list(dimensions), dtype=torch.long)
    reads = torch.zeros(len(chosen), places.width, dtype=places.dtype)
    reads[torch.arange(len(chosen)), chosen] = 1
    return Units(reads, torch.zeros(len(chosen), dtype=places.dtype), -reads)
