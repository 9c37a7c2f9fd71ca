"""Runs: what the folders hold, and nothing outside of them."""

import pytest

from espalier.explorer import Session, answer
from espalier.explorer.training_runs import MOST_POINTS, _curves
from explorer.run_folders import make_runs, rows


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    return Session(runs=str(make_runs(tmp_path_factory.mktemp("runs"))))


def test_runs_are_listed_with_their_state(session):
    found = answer(session, "runs", {})["runs"]
    assert [(one["name"], one["status"]) for one in found] == [
        ("k4", "finished"),
        ("sweep/k8", "running"),
    ]
    assert found[0]["members"] == 3
    assert answer(Session(), "runs", {})["runs"] == []


def test_curves_are_the_rows(session):
    found = answer(session, "run", {"run": "sweep/k8"})
    assert found["config"] == {"hidden": "8", "rate": "0.01"}
    for line in found["curves"]["loss"]:
        own = [row for row in rows(range(1, 9)) if row["member"] == line["member"]]
        assert line["points"] == [
            [row["epoch"], pytest.approx(row["loss"], rel=1e-5)] for row in own
        ]


def test_long_curves_keep_their_ends():
    points = _curves(list(rows(range(1, 1500))))["curves"]["loss"][0]["points"]
    assert len(points) <= MOST_POINTS + 1
    assert points[0][0] == 1
    assert points[-1][0] == 1499


@pytest.mark.parametrize("name", ["..", "../..", "/etc", "k4/../..", "nothing", "", 3, None])
def test_a_run_outside_the_folder_is_refused(session, name):
    found = answer(session, "run", {"run": name})
    assert "error" in found or found["kind"] == "?"


def test_a_checkpoint_of_a_run_is_read(session):
    models = answer(session, "models", {})["models"]
    assert models[1] == {"name": "run k4", "checkpoints": ["epoch-1", "epoch-2", "epoch-5"]}
    asked = {"model": "run k4", "sentence": "1 2 3"}
    first, last = (
        answer(session, "sentence", {**asked, "checkpoint": name})
        for name in ("epoch-1", "epoch-5")
    )
    assert first["values"] != last["values"]
    assert answer(session, "sentence", asked) == last
    assert "error" in answer(session, "sentence", {**asked, "checkpoint": "../k8/epoch-1"})
