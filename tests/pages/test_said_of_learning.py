"""What the learning page says in words of several seeds, counted anew from the rows."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from docs.pages.filling import DOCS
from docs.pages.scan import TABLE_6
from scipy import stats

DATA = DOCS / "results" / "data" / "learning"
PAGE = " ".join((DOCS / "results" / "learning.md").read_text(encoding="utf-8").split())
CELL = ["split", "sharing", "positions"]


@pytest.fixture(scope="module")
def hard():
    """Five seeds of 2 and 6 layers on the MCD splits."""
    rows = pd.read_parquet(DATA / "alta-table-6-seeds.parquet")
    return rows[rows["split"] != "length"]


def after(rows: pd.DataFrame, steps: str) -> pd.DataFrame:
    """Rows after each kind's own last step, or after 6 layers' last step."""
    asked = rows if steps == "own" else rows[rows["layers"] == 6]
    kind = ["sharing", "positions", *(["layers"] if steps == "own" else [])]
    last = asked.groupby(kind)["step"].max().rename("last").reset_index()
    found = rows.merge(last)
    return found[found["step"] == found["last"]]


def welch(two: pd.Series, six: pd.Series):
    return stats.ttest_ind(two, six, equal_var=False)


def test_2_layers_against_6_cell_by_cell(hard):
    counted = {}
    for steps in ("own", "same"):
        cells = [
            (some[some["layers"] == 2]["accuracy"], some[some["layers"] == 6]["accuracy"])
            for _, some in after(hard, steps).groupby(CELL)
        ]
        assert all(two.mean() > six.mean() for two, six in cells)
        counted[steps] = [welch(two, six).pvalue for two, six in cells]
    beyond = [sum(value < level for value in counted["own"]) for level in (0.05, 0.05 / 12)]
    assert beyond == [5, 1]
    assert "in all twelve cells on average, by 0.6 to 5.0 points; in five of them" in PAGE
    assert "(Bonferroni) it is one, MCD1 with unshared weights and relative" in PAGE


def test_2_layers_against_6_as_one_number_a_seed(hard):
    for steps, words in (
        ("own", "7.7% with 2 layers and 4.7% with 6: 3.0 points less, Welch's interval 1.7 to 4.3"),
        ("same", "as 6 layers took it is 2.9, 1.5 to 4.2"),
    ):
        by_seed = 100 * after(hard, steps).groupby(["layers", "seed"])["accuracy"].mean()
        low, high = welch(by_seed[2], by_seed[6]).confidence_interval()
        less = by_seed[2].mean() - by_seed[6].mean()
        assert words in PAGE
        for number in (less, low, high):
            assert f"{number:.1f}" in words


def test_the_papers_2_and_6_layers():
    kinds = product(("mcd1", "mcd2", "mcd3"), ("yes", "no"), ("relative", "absolute"))
    signs = [np.sign(TABLE_6[kind][1] - TABLE_6[kind][0]) for kind in kinds]
    assert [signs.count(sign) for sign in (-1, 1, 0)] == [4, 4, 4]
    assert "6 layers have less in four cells, more in four and as much in four" in PAGE


def test_variants_of_the_split_by_length_after_equal_steps():
    rows = pd.read_parquet(DATA / "alta-length-split-paper.parquet")
    sums = rows.groupby(["variant", "way", "step", "seed"])[["right", "commands"]].sum()
    share = 100 * sums["right"] / sums["commands"]
    told = share.xs("END given", level="way").xs(15_000, level="step")
    more = told["END untrained"] - told["reference"]
    half = stats.t.ppf(0.975, 3) * stats.sem(more)
    said = f'{more.mean():.0f} points more are right with "END given", ± {half:.0f}, '
    said += f"{told['END untrained'].mean():.1f}% in place of {told['reference'].mean():.1f}%"
    assert said in PAGE
    turns = share["turns in two pieces"]["greedy"]
    more = (turns - share["reference"]["greedy"]).dropna().groupby("step")
    means, halves = more.mean(), more.sem() * stats.t.ppf(0.975, 3)
    later = means[means.index >= 15_000]
    assert (later > halves[later.index]).all()
    assert f"it is {later.min():.1f} to {later.max():.1f} points from 15,000 to 30,000" in PAGE
    early = means[means.index < 15_000]
    assert (early < halves[early.index]).all()
    assert f"({means[5_000]:.1f} ± {halves[5_000]:.1f} after 5,000)" in PAGE


def test_other_variants_of_the_split_by_length_are_no_different():
    rows = pd.read_parquet(DATA / "alta-length-split-paper.parquet")
    sums = rows.groupby(["variant", "way", "step", "seed"])[["right", "commands"]].sum()
    share = 100 * sums["right"] / sums["commands"]
    told = share.xs("END given", level="way").xs(15_000, level="step")
    for variant, said in (
        ("dropout", "{:.0f} points more after as many steps, ± {:.0f}"),
        ("absolute decoder positions", 'with "END given", {:.0f} points ± {:.0f}'),
    ):
        more = told[variant] - told["reference"]
        half = stats.t.ppf(0.975, 3) * stats.sem(more)
        assert said.format(abs(more.mean()), half) in PAGE
    best = []
    for variant in ("dropout", "absolute decoder positions", "absolute steps", "batch of 256"):
        own = share[variant]["greedy"]
        step = own.index.get_level_values("step").max()
        more = own[step] - share["reference"]["greedy"][step]
        half = stats.t.ppf(0.975, 3) * stats.sem(more)
        assert more.mean() - half < 0 < more.mean() + half
        best.append((more.mean(), half))
    mean, half = max(best)
    assert f"(at most {mean:.1f} points more, {mean - half:.1f} to {mean + half:.1f})" in PAGE


@pytest.fixture(scope="module")
def relative():
    """Five seeds of 8 layers with relative positions, trained on parity."""
    rows = pd.read_parquet(DATA / "alta-table-3-seeds.parquet")
    return rows[rows["positions"] == "relative"]


def share_right(rows: pd.DataFrame) -> pd.Series:
    """By sharing and seed, in percent."""
    sums = rows.groupby(["sharing", "seed"])[["right", "strings"]].sum()
    return 100 * sums["right"] / sums["strings"]


def test_relative_positions_do_not_all_fit(relative):
    short = relative[relative["length"] <= 20]
    wrong = short["strings"].sub(short["right"]).groupby([short["sharing"], short["seed"]]).sum()
    assert (wrong["no"] == 0).sum() == 3
    assert (wrong["yes"] == 0).sum() == 1
    some = wrong[wrong > 0]
    assert f"the others are wrong on {some.min()} to {some.max()} of 665" in PAGE
    assert set(short.groupby(["sharing", "seed"])["strings"].sum()) == {665}


def test_longer_strings_with_few_ones_differ_from_seed_to_seed(relative):
    longer = relative[relative["length"] > 20]
    few, more, many = (
        share_right(longer[longer["ones"].between(*ones)]).sort_values()
        for ones in ((0, 4), (5, 10), (11, 20))
    )
    said = f"up to 4 ones the ten seeds have {few.iloc[0]:.0f}% to {few.iloc[-1]:.0f}% right, more"
    assert said in PAGE
    rows = pd.read_parquet(DATA / "alta-table-3-seeds.parquet")
    absolute = rows[(rows["positions"] == "absolute") & (rows["length"] > 20) & (rows["ones"] <= 4)]
    assert few.min() > share_right(absolute).max()
    low, high = more.iloc[:6], more.iloc[6:]
    said = f"four seeds have {high.iloc[0]:.0f}% to {high.iloc[-1]:.0f}% right and six "
    assert said + f"{low.iloc[0]:.0f}% to {low.iloc[-1]:.0f}%" in PAGE
    assert f"11 to 20 ones no seed has more than {many.iloc[-1]:.0f}%" in PAGE


def test_every_seed_ends_in_one_answer(relative):
    many = relative[relative["ones"] > 30]
    sums = many.groupby(["sharing", "seed"])[["odd", "strings"]].sum()
    own, shared = (
        (100 * sums["odd"] / sums["strings"]).loc[kind].sort_values().tolist()
        for kind in ("no", "yes")
    )
    assert own[:3] == [0, 0, 0]
    assert f"the other two 1 to {own[3]:.0f}% and {own[4]:.0f}% of them" in PAGE
    assert f"With shared weights two answer 1 to {shared[3]:.0f}% and {shared[4]:.0f}%" in PAGE
    alone = many["length"] == many["ones"]
    three = sums.loc["yes"].index[sums.loc["yes", "odd"].rank() < 4]
    told = many[(many["sharing"] == "yes") & many["seed"].isin(three)]
    assert len(three) == 3
    assert (told["odd"] == told["strings"].where(~alone, 0)[told.index]).all()
