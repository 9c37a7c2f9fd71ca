"""Five seeds of Tables 2, 3 and 6, whose training ends once it is fitted."""

import pandas as pd
import pytest

from espalier.experiments import end_to_end, find, traced, translators
from espalier.experiments.fitted_models import traced_until_fitted, translators_until_fitted
from espalier.experiments.parity_models import Learners, label_of, name_of


@pytest.mark.parametrize("name", ["alta-table-2", "alta-table-3", "alta-table-6"])
def test_five_seeds_until_they_are_fitted_stand_beside_the_others(cache, name):
    experiment = find(name)
    learners = experiment.config("smoke").learners
    five = [one for one in learners if label_of(one).endswith("5 seeds until fitted")]
    some = Learners((learners[0], five[0]))
    rows = pd.DataFrame(experiment.measure(some, cache))
    table = experiment.tabulate(rows).set_index("until")
    assert table["seeds"].to_dict() == {"fitted": 5, "the last step": 2}
    old = rows[rows["until"] == "the last step"].drop(columns="until")
    before = experiment.tabulate(old).set_index("until")  # as rows were that knew no rule
    assert before.equals(table.loc[["the last step"]])
    if name == "alta-table-6":
        assert table.loc["fitted", "step"] < 100
        assert table.loc["fitted", "training"] >= 0.99


def test_learners_have_the_names_that_they_had_before_there_was_a_rule():
    """Or their runs would be trained again."""
    assert name_of(translators("paper")[0]) == "scan-474ff04aa7"
    assert name_of(end_to_end("paper")[0]) == "parity-6af3750e19"
    assert name_of(traced("paper")[1]) == "traces-sequential-absolute-80656a26a9"


def test_deeper_transformers_have_one_seed_unless_they_went_to_the_last_step():
    runs = translators_until_fitted("paper")
    alone = [run.shape for run in runs if run.shape.layers > 6]
    kinds = {(shape.layers, shape.shared, shape.positions) for shape in alone}
    assert len(kinds) == len(alone) == 14
    assert not {(16, True, "relative"), (32, True, "relative")} & kinds
    assert {len(run.seeds) for run in runs if run.shape.layers > 6} == {1}
    assert {len(run.seeds) for run in runs if run.shape.layers <= 6} == {5}
    assert len(runs) == len(translators("paper")) - 2


def test_no_program_ends_before_half_of_what_the_shortest_recipe_takes():
    for one in traced_until_fitted("paper"):
        recipe = one.settings.recipe
        assert recipe.stop_measures * recipe.steps // recipe.measures >= 25_000
