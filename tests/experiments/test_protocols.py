"""The authors' protocol: what is measured, what is shared, and what reverses a verdict."""

import itertools

import pandas as pd
import pytest

from espalier.experiments import find
from espalier.experiments.cache import RunCache
from espalier.experiments.experiment import parts_of
from espalier.experiments.protocols import turned_by
from espalier.experiments.scaffold_models import ScaffoldModels, familiarity
from espalier.show.figures.canvas import PAGE

NUMBERS = {7: ["1", "2", "6a", "6b"], 9: ["7a", "7b", "7c"], 12: ["5a", "5b", "5c"]}


@pytest.mark.parametrize("scale", ["smoke", "small", "paper"])
def test_all_figures_share_two_ensembles_one_of_them_the_usual(scale):
    configs = [find(f"bottom-up-figure-{n}-protocols").config(scale) for n in NUMBERS]
    models = {one for config in configs for one in parts_of(config, ScaffoldModels)}
    assert {one.corpus.layout for one in models} == {"apart", "overwriting"}
    assert len(models) == 2
    assert familiarity(scale) in models
    assert len({one.name for one in models}) == 2


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return RunCache(tmp_path_factory.mktemp("runs"), device="cpu")


@pytest.mark.parametrize("number", NUMBERS)
def test_every_combination_is_measured_and_decided(number, cache):
    experiment = find(f"bottom-up-figure-{number}-protocols")
    rows = cache.rows(experiment.measure, experiment.config("smoke"))
    readings = ("before close", "after close", "every step", "own step")[: 4 if number == 12 else 2]
    wanted = set(itertools.product(("apart", "overwriting"), readings))
    assert {(row["layout"], row["reading"]) for row in rows} == wanted
    usual = find(f"bottom-up-figure-{number}")
    ours = [
        {name: row[name] for name in row if name not in ("layout", "reading")}
        for row in rows
        if (row["layout"], row["reading"]) == ("apart", "before close")
    ]
    assert ours == cache.rows(usual.measure, usual.config("smoke"))
    frame = pd.DataFrame(rows)
    table = experiment.tabulate(frame)
    assert table["claim"].unique().tolist() == NUMBERS[number]
    assert len(table) == len(NUMBERS[number]) * len(wanted)
    figure = experiment.draw(frame)
    assert len(figure.axes) == (3 if number == 12 else 2) * len(wanted)
    assert figure.get_size_inches()[0] <= PAGE  # or a page shows letters too small to be read
    assert len(list(cache.path.glob("scaffolds-*"))) == 2


def cells(*held):
    """One claim at one length, which holds with these layouts and readings alone."""
    names = itertools.product(
        ("apart", "overwriting"), ("before close", "after close", "every step")
    )
    return pd.DataFrame(
        [{"layout": one, "reading": two, "holds": (one, two) in held} for one, two in names]
    )


def test_what_turns_a_verdict_is_the_smallest_change_with_which_it_holds():
    apart, over = "apart", "overwriting"
    assert turned_by(cells()) == "none"
    assert turned_by(cells((apart, "before close"), (over, "after close"))) == "holds anyway"
    assert turned_by(cells((over, "before close"), (over, "after close"))) == "generator"
    assert turned_by(cells((apart, "after close"), (over, "after close"))) == "reading"
    assert turned_by(cells((over, "after close"))) == "generator and reading"
    either = cells((apart, "every step"), (over, "before close"), (over, "after close"))
    assert turned_by(either) == "generator or loss of every step"
