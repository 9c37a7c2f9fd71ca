"""A finished run that is refused, or stopped before anything was done, is as it was."""

import json
import os

import pandas as pd
import pytest

import espalier as es
from espalier.errors import EspalierError, FileError
from espalier.runs import MANIFEST, RESUME, Interrupted, RunFolder, recorded
from training.test_train import SCAFFOLD


def without_steps(folder):
    table = folder / "metrics.parquet"
    pd.read_parquet(table).drop(columns="step").to_parquet(table)


def flipped(folder):
    state = folder / RESUME
    data = bytearray(state.read_bytes())
    data[-1] ^= 1
    state.write_bytes(data)


def pipe(folder):
    (folder / RESUME).unlink()
    os.mkfifo(folder / RESUME)


@pytest.fixture
def run(tmp_path):
    es.train(SCAFFOLD, tmp_path / "run")
    return tmp_path / "run"


@pytest.mark.parametrize("damage", [without_steps, flipped, pipe])
def test_it_stays_finished_and_its_weights_load(run, damage):
    whole = json.loads((run / MANIFEST).read_text())
    damage(run)
    with pytest.raises(EspalierError, match=r"metrics|resume\.safetensors"):
        es.train(SCAFFOLD, run)
    assert json.loads((run / MANIFEST).read_text()) == whole
    if damage is not without_steps:
        assert es.load(run).members


def asked_again(run):
    """The manifest of the same run, as it is about to be resumed."""
    return json.loads((run / MANIFEST).read_text()) | {"status": "running"}


@pytest.mark.parametrize(
    ("error", "told"), [(KeyboardInterrupt, Interrupted), (ValueError, ValueError)]
)
def test_it_stays_so_until_something_is_written(run, error, told):
    whole, folder = json.loads((run / MANIFEST).read_text()), RunFolder(run)

    def go_on(rows):
        with recorded(folder, asked_again(run)):
            if rows:
                folder.write_rows(rows)
            raise error

    with pytest.raises(told):
        go_on([])
    assert json.loads((run / MANIFEST).read_text()) == whole
    with pytest.raises(told):
        go_on(folder.rows()[:1])
    assert json.loads((run / MANIFEST).read_text())["status"] in ("failed", "interrupted")


def test_weights_that_are_a_pipe_are_named(run):
    os.mkfifo(run / "epoch-99.safetensors")
    with pytest.raises(FileError, match=r"epoch-99\.safetensors is damaged"):
        es.load(run)
