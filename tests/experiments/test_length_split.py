"""The split by length: rows are whole, and shares are those of the commands behind them."""

import os

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from espalier.experiments import RunCache, find
from espalier.experiments.length_models import length_variants
from espalier.experiments.length_split import BEAMS, BEST, TRAINING, by_length, shares
from espalier.training import read_split, ways_of_counting

EXPERIMENT = find("alta-length-split")


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    cache = RunCache(tmp_path_factory.mktemp("runs"), device="cpu")
    return pd.DataFrame(cache.rows(EXPERIMENT.measure, EXPERIMENT.config("smoke")))


@given(st.lists(st.tuples(st.integers(1, 4), st.booleans(), st.booleans()), min_size=1))
def test_rows_by_length_hold_every_command_once(commands):
    sizes, within, right = map(list, zip(*commands, strict=True))
    found = by_length({"way": torch.tensor(right).float()}, sizes, within)
    assert sum(row["commands"] for row in found) == len(commands)
    for row in found:
        own = [r for n, w, r in commands if (n, w) == (row["actions"], bool(row["within"]))]
        assert (row["right"], row["commands"]) == (sum(own), len(own))


def test_every_variant_has_every_way_at_every_step(rows):
    ways = {*ways_of_counting(2), TRAINING}
    for run in length_variants("smoke"):
        own = rows[rows["variant"] == run.name]
        assert set(own["step"]) == {2, 4}
        for _, some in own.groupby(["step", "seed"]):
            assert set(some["way"]) - {BEAMS} == ways
            assert set(
                some[~some["way"].isin((TRAINING, BEAMS))].groupby("way")["commands"].sum()
            ) == {8}
        assert set(own[own["way"] == BEAMS]["step"]) == {4}
    whole = rows[(rows["variant"] == "reference") & (rows["way"] == "greedy")]
    assert not whole["within"].any(), "whole actions: every test answer is longer than training's"


def test_table_and_picture_are_of_all_rows(rows):
    table = EXPERIMENT.tabulate(rows).set_index(["variant", "way"])
    every = shares(rows)
    own = every[(every["variant"] == "dropout") & (every["way"] == "END given")]
    assert table.loc[("dropout", "END given"), "mean"] == np.mean(own[own["step"] == 4]["accuracy"])
    greedy = every[(every["variant"] == "dropout") & (every["way"] == "greedy")]
    best = greedy.groupby("seed")["accuracy"].max().mean()
    assert table.loc[("dropout", BEST), "mean"] == best
    panels = EXPERIMENT.draw(rows).axes
    assert [panel.get_title() for panel in panels[:2]] == ["greedy", "END given"]
    assert len(panels) == 4


needs_data = pytest.mark.skipif(
    "ESPALIER_DATA" not in os.environ, reason="set ESPALIER_DATA to a folder that holds scan/"
)


@needs_data
@pytest.mark.parametrize("part", ["train", "test"])
def test_the_small_scale_has_the_split_itself(part):
    made, read = (getattr(read_split(name), part) for name in ("upto:22,48", "length"))
    assert sorted(map(repr, made)) == sorted(map(repr, read))
    assert {run.splits[0].partition("+")[0] for run in length_variants("small")} == {"upto:22,48"}


@pytest.mark.parametrize(("spelling", "share"), [("turns", 0.361), ("underscores", 0.067)])
def test_as_many_test_answers_are_within_trainings_pieces_as_is_said(spelling, share):
    split = read_split(f"upto:22,48+{spelling}")
    longest = max(one.length for one in split.train)
    assert np.mean([one.length <= longest for one in split.test]) == pytest.approx(share, abs=5e-4)
