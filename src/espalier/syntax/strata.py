"""Mean DI by sequential distance (Figure 3); within it, by tree distance and class (Figure 4).

Pairs of class `other`, with punctuation or symbols, are left out of both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from espalier.syntax.pairs import CLASSES, TreePairs
from espalier.syntax.resampling import bootstrap_means

Array = np.ndarray
Row = dict[str, Any]
LEAST = 100  # a mean is given only where there are so many cases


def by_distance(
    pairs: TreePairs, values: Float[Array, " P"], *, furthest: int = 40, least: int = LEAST
) -> list[Row]:
    """One row per sequential distance r - l: mean, low, high, cases; class `other` is left out."""
    used = _usable(pairs, values, furthest)
    cells = pairs.distance[used] - 1
    rows = _means(pairs.sentence[used], cells, values[used], size=furthest, least=least)
    return [{"distance": cell + 1} | row for cell, row in rows]


def by_stratum(
    pairs: TreePairs, values: Float[Array, " P"], *, furthest: int = 10, least: int = LEAST
) -> list[Row]:
    """One row per sequential distance, class and tree distance; class `other` is left out."""
    used = _usable(pairs, values, furthest)
    if not used.any():
        return []
    shape = (furthest, 3, int(pairs.tree[used].max()))
    places = (pairs.distance[used] - 1, pairs.classes[used], pairs.tree[used] - 1)
    cells = np.ravel_multi_index(places, shape)
    rows = _means(pairs.sentence[used], cells, values[used], size=int(np.prod(shape)), least=least)
    found = []
    for cell, row in rows:
        distance, kind, tree = (int(place) for place in np.unravel_index(cell, shape))
        found.append({"distance": distance + 1, "class": CLASSES[kind], "tree": tree + 1} | row)
    return found


def _usable(pairs: TreePairs, values: Float[Array, " P"], furthest: int) -> Bool[Array, " P"]:
    """Pairs that have a DI, are near enough, and of which neither is punctuation or a symbol."""
    used: Bool[Array, " P"] = (pairs.distance <= furthest) & np.isfinite(values)
    used &= pairs.classes < CLASSES.index("other")
    return used


def _means(
    sentence: Int[Array, " P"],
    cells: Int[Array, " P"],
    values: Float[Array, " P"],
    *,
    size: int,
    least: int,
) -> list[tuple[int, Row]]:
    """Every cell with enough cases: its mean, interval and number of cases."""
    kept = np.flatnonzero(np.bincount(cells, minlength=size) >= max(least, 1))
    if not len(kept):
        return []
    column = np.full(size, -1)
    column[kept] = np.arange(len(kept))
    used = column[cells] >= 0
    names, rows = np.unique(sentence[used], return_inverse=True)
    flat = rows * len(kept) + column[cells[used]]
    shape = (len(names), len(kept))
    counts, sums = (
        np.bincount(flat, weights, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
        for weights in (None, values[used].astype(np.float64))
    )
    means = bootstrap_means(sums, counts)
    cases = counts.sum(axis=0).astype(int)
    return [
        (int(cell), {"mean": float(mean), "low": float(low), "high": float(high), "cases": int(n)})
        for cell, mean, low, high, n in zip(kept, *means, cases, strict=True)
    ]
