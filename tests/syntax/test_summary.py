import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from espalier.syntax import effect_of_syntax, pairs_of
from espalier.syntax.effects import TREE, Words
from espalier.syntax.scores import Scores
from espalier.syntax.summary import FURTHEST, NOT_HELD, effects, summarise
from treebanks import banks, random_bank


def known(rng, bank):
    return Words(rng.integers(1, 500, len(bank.tags)), rng.integers(2, size=len(bank.tags)))


def test_each_effect_is_that_of_its_pairs_with_frequency_held_and_not():
    rng = np.random.default_rng(0)
    bank = random_bank(rng, sentences=120)
    pairs, words = pairs_of(bank), known(rng, bank)
    values = rng.random(len(pairs)) + 0.1
    values[::11] = 0  # which has no logarithm
    rows = pd.DataFrame(effects(pairs, values, words))
    logs = np.log(values, where=values > 0, out=np.full(len(values), np.nan))
    for distance in (0, 1, 4):
        here = pairs.distance == distance if distance else np.full(len(pairs), True)
        held = effect_of_syntax(pairs.where(here), logs[here], words)
        [alone] = effect_of_syntax(pairs.where(here), logs[here])
        some = rows[(rows["outcome"] == "log DI") & (rows["distance"] == distance)]
        found = some.set_index("name")["estimate"]
        assert found[TREE] == pytest.approx(held[0].estimate)
        assert found[f"{TREE}, {NOT_HELD}"] == pytest.approx(alone.estimate)
        assert len(found) == (2 if distance else 6)


def test_a_word_whose_frequency_goes_with_tree_distance_is_told_apart():
    """DI that follows frequency alone: an effect of the tree is seen until frequency is held."""
    rng = np.random.default_rng(1)
    bank = random_bank(rng, sentences=200)
    pairs = pairs_of(bank)
    near_root = np.where(bank.heads < 0, 900, 3)  # roots are frequent, and near to all
    words = Words(near_root, np.zeros(len(bank.tags), dtype=int))
    values = np.exp(0.3 * np.log1p(words.frequency[pairs.left]) + rng.normal(0, 0.01, len(pairs)))
    rows = pd.DataFrame(effects(pairs, values, words))
    some = rows[(rows["outcome"] == "log DI") & (rows["distance"] == 0)].set_index("name")
    assert some.loc[f"{TREE}, {NOT_HELD}", "high"] < 0
    assert some.loc[TREE, "low"] < 0 < some.loc[TREE, "high"]


@settings(max_examples=20)
@given(banks(least=2), st.integers(0, 99))
def test_any_treebank_however_small_has_a_summary(bank, seed):
    rng = np.random.default_rng(seed)
    pairs = pairs_of(bank)
    values = rng.random(len(pairs)).astype(np.float32)
    rows = summarise(pairs, Scores(values, values), known(rng, bank))
    tables = {row["table"] for row in rows}
    assert "probe" in tables
    assert all(row["distance"] <= FURTHEST for row in rows if row["table"] == "effect")
