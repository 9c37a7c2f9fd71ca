import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from espalier.errors import DataError
from espalier.syntax.effects import Words, effect_of_syntax, frequency_correlations, regress
from espalier.syntax.pairs import pairs_of
from treebanks import random_bank


def oracle(outcome, columns, groups, clusters):
    """statsmodels with an indicator for every group; its correction left out, ours put in."""
    indicators = [(groups == name).astype(float) for name in np.unique(groups)]
    x = np.stack([*columns.values(), *indicators], axis=1)
    robust = {"groups": clusters, "use_correction": False}
    fit = sm.OLS(outcome, x).fit(cov_type="cluster", cov_kwds=robust)
    count = len(np.unique(clusters))
    errors = fit.bse * np.sqrt(count / (count - 1))
    return fit.params[: len(columns)], errors[: len(columns)]


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_levels_taken_out_first_change_nothing(seed):
    rng = np.random.default_rng(seed)
    size = 80
    groups, clusters = rng.integers(4, size=size), rng.integers(9, size=size)
    columns = {name: rng.normal(size=size) + groups for name in ("one", "two")}
    outcome = rng.normal(size=size) + columns["one"] - groups
    found = regress(outcome, columns, groups=groups, clusters=clusters)
    wanted, errors = oracle(outcome, columns, groups, clusters)
    assert_allclose([one.estimate for one in found], wanted, rtol=1e-8)
    assert_allclose([(one.high - one.low) / 2 / 1.959964 for one in found], errors, rtol=1e-5)


def test_planted_effects_are_recovered():
    rng = np.random.default_rng(1)
    bank = random_bank(rng, sentences=300)
    pairs = pairs_of(bank)
    words = Words(rng.integers(1, 500, len(bank.tags)), rng.integers(2, size=len(bank.tags)))
    level = 1 / pairs.distance + np.array([0.0, 0.4, 0.2, 9.0])[pairs.classes]
    shared = rng.normal(0, 0.3, len(bank))[pairs.sentence]  # one draw per sentence
    values = level - 0.05 * pairs.tree + 0.02 * np.log1p(words.frequency[pairs.right]) + shared
    values = values + rng.normal(0, 0.01, len(pairs))
    found = {one.name: one for one in effect_of_syntax(pairs, values, words)}
    for name, planted in (("tree distance", -0.05), ("log frequency, right", 0.02)):
        assert found[name].low < planted < found[name].high
    assert found["tree distance"].high < 0
    assert found["log frequency, left"].low < 0 < found["log frequency, left"].high
    assert found["tree distance"].sentences <= len(bank)
    plain = effect_of_syntax(pairs, level - 0.05 * pairs.tree)
    assert [one.name for one in plain] == ["tree distance"]
    assert plain[0].estimate == pytest.approx(-0.05)
    assert "tree distance -0.05" in str(plain[0])


def test_luck_that_sentences_share_widens_the_interval():
    rng = np.random.default_rng(2)
    pairs = pairs_of(random_bank(rng, sentences=200))
    slopes = rng.normal(0, 0.1, 200)[pairs.sentence]
    values = slopes * pairs.tree
    [together] = effect_of_syntax(pairs, values)
    alone = regress(
        values,
        {"tree": pairs.tree.astype(float)},
        groups=pairs.distance * 4 + pairs.classes,
        clusters=np.arange(len(pairs)),
    )[0]
    assert together.high - together.low > 1.2 * (alone.high - alone.low)


def test_what_does_not_vary_cannot_be_estimated():
    with pytest.raises(DataError, match="do not vary within a group"):
        regress(np.ones(3), {"x": np.ones(3)}, groups=np.zeros(3, int), clusters=np.arange(3))


def test_frequency_correlations_are_ranks_within_a_distance():
    rng = np.random.default_rng(3)
    bank = random_bank(rng)
    pairs = pairs_of(bank)
    words = Words(rng.integers(0, 9, len(bank.tags)), rng.integers(2, size=len(bank.tags)))
    values = rng.random(len(pairs)) + words.frequency[pairs.right]
    rows = frequency_correlations(pairs, values, words, furthest=3)
    assert {row["distance"] for row in rows} == {0, 1, 2, 3}
    used = (words.unknown[pairs.left] + words.unknown[pairs.right] == 0) & (pairs.classes < 3)
    used &= pairs.distance == 2
    [row] = [row for row in rows if row["distance"] == 2 and row["word"] == "right"]
    ranks = [pd.Series(one).rank() for one in (values[used], words.frequency[pairs.right[used]])]
    wanted = ranks[0].corr(ranks[1])
    assert row["correlation"] == pytest.approx(wanted)
    assert row["cases"] == used.sum()
