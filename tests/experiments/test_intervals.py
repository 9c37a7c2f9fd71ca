import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from espalier.errors import DataError
from espalier.experiments.intervals import bootstrap, summarise

values = st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=8)


@given(values)
def test_an_interval_holds_its_mean_and_stays_among_the_values(some):
    found = bootstrap(some)
    assert found.mean == pytest.approx(np.mean(some))
    assert min(some) - 1e-9 <= found.low <= found.mean <= found.high <= max(some) + 1e-9
    assert found.seeds == len(some)


@given(values, st.randoms(use_true_random=False))
def test_the_order_of_seeds_does_not_matter(some, dice):
    shuffled = dice.sample(some, len(some))
    assert bootstrap(shuffled) == bootstrap(some)


@given(values, st.floats(0.1, 10), st.floats(-50, 50))
def test_intervals_move_and_stretch_with_their_values(some, scale, shift):
    before, after = bootstrap(some), bootstrap([scale * value + shift for value in some])
    assert after.low == pytest.approx(scale * before.low + shift, abs=1e-6)
    assert after.high == pytest.approx(scale * before.high + shift, abs=1e-6)


@given(values)
def test_more_confidence_needs_more_room(some):
    narrow, wide = bootstrap(some, level=0.5), bootstrap(some, level=0.99)
    assert wide.low <= narrow.low
    assert narrow.high <= wide.high


@given(st.floats(-5, 5), st.integers(1, 6))
def test_seeds_that_agree_leave_no_room(value, count):
    found = bootstrap([value] * count)
    assert found.low == pytest.approx(value)
    assert found.high == pytest.approx(value)


@pytest.mark.parametrize("some", [[0.0, 1.0, 5.0], [1.0, 2.0, 2.5, 9.0]])
def test_drawing_comes_close_to_counting_every_resample(some):
    means = [np.mean(drawn) for drawn in itertools.product(some, repeat=len(some))]
    exact = np.quantile(means, [0.1, 0.9])
    found = bootstrap(some, level=0.8)
    spread = max(some) - min(some)
    assert [found.low, found.high] == pytest.approx(exact, abs=0.08 * spread)


def test_what_has_no_interval_is_refused():
    with pytest.raises(DataError, match="finite values"):
        bootstrap([])
    with pytest.raises(DataError, match="finite values"):
        bootstrap([1.0, float("nan")])
    with pytest.raises(DataError, match="level is 2"):
        bootstrap([1.0], level=2)


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
        expected = bootstrap(by_seed)
        assert (row.mean, row.low, row.high) == pytest.approx(
            (expected.mean, expected.low, expected.high)
        )
        assert row.seeds == 3
