"""A run's state and weights are its own: those of another run of the same shape are refused."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace

import pandas as pd
import pyarrow.parquet
import pytest
import torch

import espalier as es
from espalier.errors import FileError
from espalier.loading import load_network
from espalier.runs import IDENTITY, MANIFEST, RESUME, RunFolder, identity_of
from training.test_train import EVERY, SCAFFOLD


def other_seeds(run):
    found = run.with_seeds((7, 8))
    return found[0] if isinstance(found, list | tuple) else found


@pytest.fixture(scope="module", params=EVERY, ids=lambda run: run.kind)
def two(request, tmp_path_factory):
    """A run, its folder, and that of one with other seeds."""
    place = tmp_path_factory.mktemp("two")
    es.train(request.param, place / "own")
    es.train(other_seeds(request.param), place / "other")
    return request.param, place / "own", place / "other"


def copied(two, tmp_path, *names):
    """A copy of the run with these files of the other."""
    run, own, other = two
    here = shutil.copytree(own, tmp_path / "run")
    for name in names:
        shutil.copy(other / name, here / name)
    return run, here


def test_state_of_another_run_is_refused_and_its_own_taken(two, tmp_path):
    run, here = copied(two, tmp_path, RESUME)
    before = {file.name: file.read_bytes() for file in here.iterdir()}
    with pytest.raises(FileError, match=rf"{RESUME} is another run's: its identity is [0-9a-f]+"):
        es.train(run, here)
    after = {file.name: file.read_bytes() for file in here.iterdir()}
    assert before == after
    shutil.copy(two[1] / RESUME, here / RESUME)
    es.train(run, here)


def test_weights_of_another_run_are_refused(two, tmp_path):
    last = f"{list(RunFolder(two[1]).checkpoints())[-1]}.safetensors"
    run, here = copied(two, tmp_path, last)
    with pytest.raises(FileError, match=rf"{last} is another run's"):
        es.load(here)
    if run.kind == "scaffold":
        with pytest.raises(FileError, match=rf"{last} is another run's"):
            load_network(here)


def test_runs_of_earlier_versions_have_no_identity_and_are_resumed(two, tmp_path):
    _, here = copied(two, tmp_path, RESUME)
    folder = RunFolder(here)
    manifest = folder.manifest()
    manifest.pop(IDENTITY)
    folder.write_manifest(manifest)
    assert folder.load_resume() is not None
    manifest = json.loads((two[1] / MANIFEST).read_text())
    assert manifest[IDENTITY] == identity_of(manifest["config"], manifest["data"])
    es.load(here)


def test_the_same_run_for_more_epochs_has_the_same_identity(tmp_path):
    es.train(SCAFFOLD, tmp_path / "run")
    longer = replace(SCAFFOLD, recipe=replace(SCAFFOLD.recipe, epochs=4))
    es.train(longer, tmp_path / "run")
    es.train(longer, tmp_path / "whole")
    found = [RunFolder(tmp_path / name) for name in ("run", "whole")]
    assert found[0].identity() == found[1].identity() is not None
    states = [folder.load_resume() for folder in found]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("lines", [False, True])
def test_measures_of_another_run_are_refused_and_its_own_taken(two, tmp_path, before, lines):
    """Those of earlier versions carry no identity: the measures in the weights decide."""
    run, here = copied(two, tmp_path, "metrics.parquet")
    if before:
        forget_identities(here)
    if lines:
        rows = RunFolder(two[2]).rows()
        (here / "metrics.parquet").unlink()
        (here / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    there = {file.name: file.read_bytes() for file in here.iterdir()}
    refused = r"metrics\.parquet is another run's|the measures of step \d+ in its table metrics are"
    for use in (es.load, lambda folder: es.train(run, folder)):
        with pytest.raises(FileError, match=refused):
            use(here)
    after = {file.name: file.read_bytes() for file in here.iterdir()}
    assert there == after  # a finished run is still one
    (here / "metrics.jsonl").unlink(missing_ok=True)
    shutil.copy(two[1] / "metrics.parquet", here / "metrics.parquet")
    es.train(run, here)
    assert es.load(here).rows == es.load(two[1]).rows


@pytest.mark.parametrize(
    "edit",
    [
        lambda frame: frame.assign(bits=1.5),
        lambda frame: frame.drop(columns=frame.columns[-1]),
        lambda frame: frame.rename(columns={frame.columns[-1]: "named anew"}),
        lambda frame: frame.assign(**{frame.columns[-1]: float("nan")}),
        lambda frame: frame.convert_dtypes(),
    ],
    ids=["more", "fewer", "renamed", "not numbers", "other types"],
)
def test_measures_that_a_user_edited_are_the_runs_own(two, tmp_path, edit):
    run, here = copied(two, tmp_path)
    edit(pd.read_parquet(here / "metrics.parquet")).to_parquet(here / "metrics.parquet")
    es.load(here)
    es.train(run, here)
    assert RunFolder(here).manifest()["status"] == "finished"


def test_measures_that_a_user_changed_are_reported(two, tmp_path):
    _, here = copied(two, tmp_path)
    frame = pd.read_parquet(here / "metrics.parquet")
    measured = [name for name in frame.select_dtypes("float") if name != "epoch"]
    frame[measured] += 1
    frame.to_parquet(here / "metrics.parquet")
    with pytest.raises(FileError, match="they were edited, or one of the two is another"):
        es.load(here)
    RunFolder(here).last_checkpoint()  # the weights say themselves whose they are


def test_weights_are_read_without_what_reads_tables(two, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    folder = RunFolder(two[1])
    folder.last_checkpoint()
    folder.check_last_checkpoint()
    with pytest.raises(
        FileError, match=r"metrics\.parquet cannot be read without pyarrow; install"
    ):
        folder.rows()


def test_measures_are_read_without_torch(two):
    """So that listing many runs takes no time."""
    code = """
import sys
sys.modules["torch"] = None
from pathlib import Path
from espalier.runs import RunFolder
assert RunFolder(Path(sys.argv[1])).rows()
"""
    subprocess.run([sys.executable, "-c", code, two[1]], check=True)


def forget_identities(here):
    """Make a folder that of a run of an earlier version."""
    folder = RunFolder(here)
    folder.write_manifest({key: v for key, v in folder.manifest().items() if key != IDENTITY})
    table = pyarrow.parquet.read_table(here / "metrics.parquet")
    pyarrow.parquet.write_table(table.replace_schema_metadata(None), here / "metrics.parquet")


def test_earlier_weights_of_another_run_of_an_earlier_version_are_refused(two, tmp_path):
    first = next(iter(RunFolder(two[1]).checkpoints()))
    _, here = copied(two, tmp_path, f"{first}.safetensors")
    forget_identities(here)
    with pytest.raises(FileError, match="one of the two is another"):
        RunFolder(here).load_checkpoint(first)
    with pytest.raises(FileError, match="one of the two is another"):
        RunFolder(here).check_checkpoint(first)
