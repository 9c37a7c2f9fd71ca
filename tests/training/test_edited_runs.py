"""A manifest whose settings were edited is refused by whoever reads the run."""

import json
from dataclasses import replace

import pytest

import espalier as es
from espalier.errors import FileError
from espalier.runs import MANIFEST
from espalier.training import seed_of
from training.test_train import SCAFFOLD


@pytest.fixture
def run(tmp_path):
    es.train(SCAFFOLD, tmp_path / "run")
    return tmp_path / "run"


def edit(run, change):
    manifest = json.loads((run / MANIFEST).read_text())
    change(manifest["config"])
    (run / MANIFEST).write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    "change",
    [
        lambda config: config["corpus"].update(seed=7),
        lambda config: config["corpus"].update(length=3),
        lambda config: config.update(network={}),
    ],
)
def test_settings_that_were_edited_are_refused(run, change):
    es.load(run)
    edit(run, change)
    for read in (es.load, seed_of):
        with pytest.raises(FileError, match=r"manifest\.json was edited"):
            read(run)


def test_a_run_that_an_earlier_version_resumed_is_not_refused(run):
    """It described the settings anew, by other words or numbers, and kept the identity."""
    manifest = json.loads((run / MANIFEST).read_text())
    del manifest["described"]
    (run / MANIFEST).write_text(json.dumps(manifest))
    edit(run, lambda config: config["recipe"].update(clip=float(config["recipe"]["clip"])))
    assert es.load(run).config == SCAFFOLD


def test_a_run_that_was_resumed_for_more_epochs_is_not_edited(run):
    longer = replace(SCAFFOLD, recipe=replace(SCAFFOLD.recipe, epochs=4))
    es.train(longer, run)
    assert es.load(run).config == longer
    edit(run, lambda config: config["corpus"].update(seed=7))
    with pytest.raises(FileError, match="was edited"):
        es.load(run)
