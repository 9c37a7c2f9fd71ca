"""Means over seeds with percentile bootstrap intervals; the same numbers give the same interval.

Seeds are the unit that is drawn: test sequences of one model share that model's luck.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Real

from espalier.errors import DataError
from espalier.syntax import bootstrap_means

if TYPE_CHECKING:
    import pandas

LEVEL, RESAMPLES = 0.95, 4_000


@dataclass(frozen=True)
class Interval:
    """A mean and the interval that holds it with the level asked for."""

    mean: float
    low: float
    high: float
    seeds: int

    def __str__(self) -> str:
        return f"{self.mean:.3g} [{self.low:.3g}, {self.high:.3g}]"


def bootstrap(
    values: Sequence[float] | Real[np.ndarray, " S"], *, level: float = LEVEL
) -> Interval:
    """The mean over seeds and its interval; of a single seed, the value itself.

    Values are sorted before any is drawn, so their order does not matter.
    """
    found = np.sort(np.asarray(values, dtype=np.float64))
    if not len(found) or not np.isfinite(found).all():
        raise DataError(f"an interval needs finite values, one a seed at least; found {found}")
    if not 0 < level < 1:
        raise DataError(f"level is {level}; it must lie between 0 and 1")
    one, each = found[:, None], np.ones((len(found), 1))
    bounds = bootstrap_means(one, each, resamples=RESAMPLES, level=level)
    mean, low, high = (float(bound[0]) for bound in bounds)
    return Interval(mean, low, high, len(found))


def summarise(rows: pandas.DataFrame, value: str, *, by: Sequence[str]) -> pandas.DataFrame:
    """One row a group, with mean, low, high and seeds; rows of one seed are averaged first."""
    import pandas as pd

    groups = rows.groupby([*by, "seed"], as_index=False, sort=True)[value].mean()
    found = []
    for key, some in groups.groupby(list(by), sort=True):
        interval = bootstrap(some[value].to_numpy())
        found.append(dict(zip(by, key, strict=True)) | vars(interval))
    return pd.DataFrame(found, columns=[*by, "mean", "low", "high", "seeds"])
