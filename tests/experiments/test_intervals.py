import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from espalier.errors import DataError
from espalier.experiments.intervals import over_models, over_seeds, summarise
from espalier.syntax import bootstrap_means

values = st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=8)


@given(values)
def test_an_interval_holds_its_mean_and_is_scipys(some):
    found = over_seeds(some)
    assert found.mean == pytest.approx(np.mean(some))
    assert found.low <= found.mean <= found.high
    if len(some) > 1 and np.std(some) > 1e-6:
        theirs = stats.ttest_1samp(some, 0).confidence_interval(0.95)
        assert (found.low, found.high) == pytest.approx(tuple(theirs))
    assert found.seeds == len(some)


@given(values, st.randoms(use_true_random=False))
def test_the_order_of_seeds_does_not_matter(some, dice):
    shuffled = dice.sample(some, len(some))
    assert over_seeds(shuffled) == over_seeds(some)


@given(values, st.floats(0.1, 10), st.floats(-50, 50))
def test_intervals_move_and_stretch_with_their_values(some, scale, shift):
    before, after = over_seeds(some), over_seeds([scale * value + shift for value in some])
    assert after.low == pytest.approx(scale * before.low + shift, abs=1e-6)
    assert after.high == pytest.approx(scale * before.high + shift, abs=1e-6)


@given(values)
def test_more_confidence_needs_more_room(some):
    narrow, wide = over_seeds(some, level=0.5), over_seeds(some, level=0.99)
    assert wide.low <= narrow.low
    assert narrow.high <= wide.high


@given(st.floats(-5, 5), st.integers(1, 6))
def test_seeds_that_agree_leave_no_room(value, count):
    found = over_seeds([value] * count)
    assert found.low == pytest.approx(value)
    assert found.high == pytest.approx(value)


@pytest.mark.parametrize("seeds", [2, 3, 5, 10])
def test_of_normal_values_it_holds_the_true_mean_as_often_as_it_says(seeds):
    drawn = np.random.default_rng(seeds).normal(3, 2, size=(2_000, seeds))
    found = [over_seeds(values) for values in drawn]
    covered = np.mean([one.low <= 3 <= one.high for one in found])
    assert covered == pytest.approx(0.95, abs=0.02)  # four standard errors


@pytest.mark.parametrize("seeds", [3, 4, 5])
def test_of_skewed_values_it_holds_the_true_mean_less_often_and_then_lies_too_low(seeds):
    """As for shares near 0 that differ by as much as they are: lognormal, deviation = mean = 1."""
    wide = np.log(2)
    drawn = np.random.default_rng(seeds).lognormal(-wide / 2, wide**0.5, size=(2_000, seeds))
    found = [over_seeds(values) for values in drawn]
    assert np.mean([one.low <= 1 <= one.high for one in found]) == pytest.approx(0.86, abs=0.03)
    assert np.mean([one.low > 1 for one in found]) < 0.02


@pytest.mark.parametrize(("seeds", "share"), [(3, 0.75), (5, 0.84)])
def test_a_percentile_bootstrap_of_few_seeds_is_too_narrow(seeds, share):
    drawn = np.random.default_rng(seeds).normal(3, 2, size=(seeds, 2_000))
    found = bootstrap_means(drawn, np.ones_like(drawn), resamples=4_000, level=0.95)
    covered = np.mean((found.low <= 3) & (found.high >= 3))
    assert covered == pytest.approx(share, abs=0.03)


def test_what_has_no_interval_is_refused():
    with pytest.raises(DataError, match="finite values"):
        over_seeds([])
    with pytest.raises(DataError, match="finite values"):
        over_seeds([1.0, float("nan")])
    with pytest.raises(DataError, match="level is 2"):
        over_seeds([1.0], level=2)


def test_a_summary_is_an_interval_a_group_over_means_of_seeds():
    rng = np.random.default_rng(0)
    keys = itertools.product((2, 4), "ab", range(3), range(5))
    rows = pd.DataFrame(
        [{"k": k, "s": s, "seed": seed, "x": rng.random()} for k, s, seed, _ in keys]
    )
    table = summarise(rows, "x", by=["k", "s"])
    assert list(table.columns) == ["k", "s", "mean", "low", "high", "seeds"]
    assert len(table) == 4
    for row in table.itertuples():
        own = rows[(rows["k"] == row.k) & (rows["s"] == row.s)]
        by_seed = [own[own["seed"] == seed]["x"].mean() for seed in range(3)]
        expected = over_seeds(by_seed)
        assert (row.mean, row.low, row.high) == pytest.approx(
            (expected.mean, expected.low, expected.high)
        )
        assert row.seeds == 3


@given(st.lists(values, min_size=1, max_size=4))
def test_models_have_a_t_interval_and_one_alone_its_own(groups):
    rows = pd.DataFrame(
        [
            {"key": key, "value": value, "low": value - 1, "high": value + 2, "cases": 10 * (n + 1)}
            for key, some in enumerate(groups)
            for n, value in enumerate(some)
        ]
    )
    table = over_models(rows, ["key"], "value", also=["cases"])
    assert table["key"].tolist() == list(range(len(groups)))
    for found, some in zip(table.itertuples(), groups, strict=True):
        wanted = over_seeds(some)
        low, high = (wanted.low, wanted.high) if len(some) > 1 else (some[0] - 1, some[0] + 2)
        assert (found.value, found.low, found.high) == pytest.approx((wanted.mean, low, high))
        assert found.cases == pytest.approx(5 * (len(some) + 1))
