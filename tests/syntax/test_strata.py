import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from espalier.errors import DataError
from espalier.syntax import CLASSES, by_distance, by_stratum, pairs_of
from espalier.syntax.resampling import bootstrap_means
from treebanks import banks


@given(banks(least=2), st.integers(0, 99), st.integers(1, 3))
def test_means_are_those_of_their_cases(bank, seed, least):
    pairs = pairs_of(bank)
    values = np.random.default_rng(seed).random(len(pairs))
    values[::7] = np.nan
    kinds = np.array(CLASSES)[pairs.classes]
    cells = {}
    for d, kind, tree, value in zip(pairs.distance, kinds, pairs.tree, values, strict=True):
        if kind != "other" and np.isfinite(value):
            cells.setdefault((d, kind, tree), []).append(value)
    kept = {cell: some for cell, some in cells.items() if len(some) >= least and cell[0] <= 5}
    rows = by_stratum(pairs, values, furthest=5, least=least)
    assert {(row["distance"], row["class"], row["tree"]) for row in rows} == kept.keys()
    for row in rows:
        some = kept[row["distance"], row["class"], row["tree"]]
        assert row["cases"] == len(some)
        assert row["mean"] == pytest.approx(np.mean(some))
        assert row["low"] <= row["mean"] <= row["high"]
    for row in by_distance(pairs, values, furthest=4, least=least):
        some = values[(pairs.distance == row["distance"]) & (kinds != "other")]
        assert row["mean"] == pytest.approx(np.nanmean(some))
        assert row["cases"] == np.isfinite(some).sum()


def test_the_interval_is_that_of_drawing_whole_sentences():
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 5, size=(400, 1)).astype(float)
    sums = counts * rng.normal(3, 1, size=(400, 1))  # pairs of one sentence are alike
    bounds = bootstrap_means(sums, counts)
    means = sums.sum() / counts.sum()
    error = np.sqrt(((sums - means * counts) ** 2).sum()) / counts.sum()
    assert bounds.mean[0] == pytest.approx(means)
    assert bounds.high[0] - bounds.low[0] == pytest.approx(2 * 1.96 * error, rel=0.1)
    again = bootstrap_means(sums, counts)
    assert (again.low, again.high) == (bounds.low, bounds.high)


@pytest.mark.usefixtures("unchecked_shapes")
def test_a_constant_has_no_interval_and_sizes_must_agree():
    counts = np.ones((30, 2))
    bounds = bootstrap_means(2 * counts, counts)
    assert bounds.low.tolist() == bounds.high.tolist() == [2, 2]
    with pytest.raises(DataError, match="of one size"):
        bootstrap_means(np.ones((3, 2)), np.ones((3, 1)))
