"""Runs: what the folders hold, and nothing outside of them."""

import pytest

from espalier.explorer import Session, answer
from espalier.explorer.training_runs import MOST_POINTS, _curves
from explorer.run_folders import ARCHITECTURES, make_run, make_runs, rows


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    return Session(runs=str(make_runs(tmp_path_factory.mktemp("runs"))))


def test_runs_are_listed_with_their_state(session):
    found = answer(session, "runs", {})["runs"]
    assert [(one["name"], one["status"]) for one in found] == [
        ("claims", "finished"),
        ("damaged", "damaged"),
        ("k4", "finished"),
        ("sweep/gru", "finished"),
        ("sweep/k8", "running"),
        ("sweep/transformer", "finished"),
    ]
    assert found[2]["members"] == 3
    assert "is not JSON" in found[1]["trouble"]
    assert answer(Session(), "runs", {})["runs"] == []


def test_curves_are_the_rows(session):
    found = answer(session, "run", {"run": "sweep/k8"})
    settings = {"network.hidden": "8", "network.architecture": "lstm", "rate": "0.01"}
    assert found["config"] == settings
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


def test_claims_have_verdicts_and_intervals(session):
    found = answer(session, "claims", {"run": "claims"})
    assert [row[2:5] for row in found["rows"]] == [
        ["holds", "above 0", "0.5 [0.4, 0.6]"],
        ["does not hold", "above 0", "-0.5 [-0.6, -0.4]"],
    ]
    assert "no finished reproduction" in answer(session, "claims", {"run": "k4"})["error"]


@pytest.mark.parametrize(
    "damage", ["", "[]", "{}", "null", '{"kind": 3, "status": []}', "\x00", '{"config": [1, {}]}']
)
def test_whatever_a_folder_holds_is_listed(tmp_path, damage):
    make_run(tmp_path / "whole", "finished", "lstm")
    make_run(tmp_path / "broken", "running", "lstm")
    (tmp_path / "broken" / "manifest.json").write_text(damage)
    session = Session(runs=str(tmp_path))
    broken, whole = answer(session, "runs", {})["runs"]
    assert (whole["name"], whole["status"]) == ("whole", "finished")
    assert broken["status"] == "damaged"
    assert broken["trouble"]
    assert "error" not in answer(session, "run", {"run": "broken"})
    assert answer(session, "models", {})["models"][-1]["name"] == "run whole"


@pytest.mark.parametrize("row", ['{"loss": "x"}', "[]", "{", '{"epoch": null, "loss": 1.5}'])
def test_measures_that_make_no_sense_are_no_server_error(tmp_path, row):
    make_run(tmp_path / "broken", "running", "lstm")
    (tmp_path / "broken" / "metrics.jsonl").write_text(row + "\n")
    session = Session(runs=str(tmp_path))
    assert answer(session, "runs", {})["runs"][0]["name"] == "broken"
    assert answer(session, "run", {"run": "broken"})["name"] == "broken"


@pytest.mark.parametrize("run", ARCHITECTURES)
def test_a_checkpoint_of_a_run_is_read(session, run):
    models = {one["name"]: one["checkpoints"] for one in answer(session, "models", {})["models"]}
    assert models[f"run {run}"] == ["epoch-1", "epoch-2", "epoch-5"]
    asked = {"model": f"run {run}", "sentence": "1 2 3"}
    first, last = (
        answer(session, "sentence", {**asked, "checkpoint": name})
        for name in ("epoch-1", "epoch-5")
    )
    assert first["values"] != last["values"]
    assert answer(session, "sentence", asked) == last
    assert "error" in answer(session, "sentence", {**asked, "checkpoint": "../k8/epoch-1"})
