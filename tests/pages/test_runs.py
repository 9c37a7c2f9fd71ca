"""What manifests say: how far, how fast, and whether training was fitted when it ended."""

import json

import pandas as pd
import pytest
from docs.pages.runs import by_kind, ended, kind_of, not_trained, pace, reached, until_fitted

from espalier.experiments.fitted_models import end_to_end_until_fitted


def manifest(*, share=0.99, layers=2, **more):
    recipe = {"steps": 1_000, "batch": 64, "precision": "bfloat16", "stop_share": share}
    shape = {"layers": layers, "shared": True, "positions": "relative"}
    about = {"kind": "scan", "status": "finished", "seconds": 10.0}
    return about | {"config": {"shape": shape, "recipe": recipe}} | more


@pytest.mark.parametrize(
    ("run", "step", "steps_a_second"),
    [
        (manifest(share=None), 1_000, 100),
        (manifest(), None, "-"),  # may have ended anywhere
        (manifest(reached=600), 600, 60),
        (manifest(reached=600, status="interrupted"), 600, "-"),
        (manifest(reached=600, taken=640, status="interrupted"), 600, 64),
        (manifest(reached=600, taken=640, status="interrupted", untimed=140), 600, 50),
        (manifest(reached=600, taken=640, status="running", seconds=0.0), 600, "-"),
        (manifest(share=None, status="interrupted"), None, "-"),
    ],
)
def test_pace_is_of_steps_that_were_taken_in_these_seconds(run, step, steps_a_second):
    assert (reached(run), pace(run)) == (step, steps_a_second)


@pytest.mark.parametrize(
    ("run", "shares", "said"),
    [
        (manifest(), None, ""),  # at step 600 of 1,000: the rule ended it
        (manifest(status="interrupted"), None, ", not fitted"),
        (manifest(), (0.5, 0.99, 1, 1), ""),
        (manifest(), (1, 1, 1, 0.98), ", not fitted"),
        (None, (1, 1), ", not fitted"),  # three in a row are wanted
        (None, (0, 0.99, 1, 1), ""),
        (manifest(share=1.0), (0, 0.99, 1, 1), ", not fitted"),
        (None, None, ", not known if fitted"),
    ],
)
def test_measures_or_the_manifest_tell_if_training_was_fitted(run, shares, said):
    least = None if shares is None else pd.Series(shares, index=range(len(shares)))
    assert ended(600, run, least) == f"600{said}"
    if least is not None:
        assert ended(600, run, least.iloc[::-1]) == f"600{said}"  # whatever their order


def test_of_training_that_took_every_step_the_manifest_says_it():
    assert ended(1_000, manifest()) == "1,000, not known if fitted"
    assert ended(1_000, manifest(fitted=2)) == "1,000, not fitted"
    assert ended(1_000, manifest(fitted=3)) == "1,000"
    longer = json.loads(
        json.dumps(manifest(fitted=3)).replace('"batch"', '"stop_measures": 10, "b"')
    )
    assert ended(1_000, longer) == "1,000, not fitted"
    assert ended(1_000, manifest(), pd.Series([1.0, 1.0, 0.9])) == "1,000, not fitted"


def test_of_two_runs_of_a_transformer_the_one_that_went_further_counts():
    runs = {
        "a": manifest(layers=6, reached=900),
        "b": manifest(layers=6, reached=80),
        "c": manifest(),
    }
    assert by_kind(runs) == {(2, "yes", "relative"): runs["c"], (6, "yes", "relative"): runs["a"]}
    assert kind_of(vars(end_to_end_until_fitted("paper")[1].shape)) == (8, "yes", "relative")


def test_runs_that_end_once_fitted_are_told_from_others():
    traces = {"config": {"settings": {"recipe": {"stop_share": 1.0}}}}
    assert until_fitted(manifest())
    assert until_fitted(traces)
    traces["config"]["settings"]["recipe"]["stop_share"] = None
    assert not until_fitted(manifest(share=None))
    assert not until_fitted(traces)


def test_what_was_not_trained_is_named_below_its_command():
    assert not_trained("`this`") == "Not trained yet: `this`."
    assert not_trained("`this`", ["a", "b, c"]) == "Not trained yet (`this`):\n\n- a\n- b, c"
    assert not_trained("`this`", []) == ""
