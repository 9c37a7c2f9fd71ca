"""Intervals of means over pairs, by drawing sentences: pairs of one sentence are not independent.

The same numbers give the same interval: the draws depend on the number of sentences alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from espalier.errors import DataError

Array = np.ndarray
LEVEL, RESAMPLES, SEED = 0.95, 1_000, 0
AT_ONCE = 1 << 23  # draws made together


class Bounds(NamedTuple):
    """Means, and the percentile interval of each."""

    mean: Float[Array, " C"]
    low: Float[Array, " C"]
    high: Float[Array, " C"]


def bootstrap_means(
    sums: Float[Array, "S C"],
    counts: Float[Array, "S C"],
    *,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> Bounds:
    """Means of C quantities, from each sentence's sum and number of cases.

    A draw in which a quantity has no case at all says nothing about it and is left out.
    """
    if sums.shape != counts.shape or not len(sums):
        raise DataError(f"sums {sums.shape} and counts {counts.shape} must be of one size, above 0")
    rng, drawn = np.random.default_rng(SEED), []
    step = max(1, AT_ONCE // len(sums))
    for first in range(0, resamples, step):
        weights = _draw(rng, min(step, resamples - first), len(sums))
        cases = weights @ counts
        drawn.append(np.where(cases > 0, (weights @ sums) / np.maximum(cases, 1e-300), np.nan))
    tail = (1 - level) / 2
    low, high = np.nanquantile(np.concatenate(drawn), [tail, 1 - tail], axis=0)
    mean = sums.sum(axis=0) / counts.sum(axis=0)
    # rounding can part equal numbers in their last bit
    return Bounds(mean, np.minimum(low, mean), np.maximum(high, mean))


def _draw(rng: np.random.Generator, times: int, count: int) -> Float[Array, "times count"]:
    """How often each sentence is drawn, `count` draws each time."""
    chosen = rng.integers(count, size=(times, count)) + count * np.arange(times)[:, None]
    found: Float[Array, "times count"] = np.bincount(chosen.ravel(), minlength=times * count)
    return found.reshape(times, count).astype(np.float64)
