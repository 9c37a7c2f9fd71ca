"""Every kind of run: stopped, or out of room, it goes on and ends as if nothing had been."""

import os
import signal

import pytest
import torch

import espalier as es
from espalier.nets.lstm import read_tensors
from espalier.nets.transformer.model import TransformerShape
from espalier.runs import Interrupted, RunFolder
from espalier.training.scan_pairs import SYMBOLS
from espalier.training.stacked import StepRecipe
from small_disk import small_disk

ENTRY = es.zoo.load("parity-sequential-relative")
INPUTS = [ENTRY.encode(text) for text in ("1", "01", "110", "1011")]
RECIPE = StepRecipe(12, 6, 1e-2, "adafactor", measures=3, precision="float32")
SIZES = {"width": 16, "hidden": 16, "heads": 2, "head_width": 8}
ROOM = 1_500  # bytes: a manifest fits, weights do not


def on_traces(**kept):
    settings = es.TraceSettings(2, 16, recipe=RECIPE)
    return es.train_on_traces(ENTRY.program, INPUTS, settings=settings, seeds=(0, 1), **kept).rows


def readable(**kept):
    settings = es.ReadableSettings(**SIZES, recipe=RECIPE)
    return es.train_readable(ENTRY.program, INPUTS, settings=settings, seeds=(0, 1), **kept).rows


def on_parity(**kept):
    shape = TransformerShape(3, 2, **SIZES, layers=2)
    strings = {"train": es.ParityConfig(4, 5), "test": es.ParityConfig(8, 4, 1)}
    return es.train_parity(es.ParityRun(shape, recipe=RECIPE, seeds=2, **strings), **kept)


def on_scan(**kept):
    shape = TransformerShape(len(SYMBOLS), len(SYMBOLS), **SIZES, layers=2, decoder=True)
    return es.train_scan(es.ScanRun(shape, ("upto:1,2",), RECIPE, seeds=2, tests=9), **kept)


@pytest.fixture(scope="module", params=[on_traces, readable, on_parity, on_scan])
def kind(request, tmp_path_factory):
    """A kind of run, and one that nothing happened to."""
    whole = tmp_path_factory.mktemp("whole") / "run"
    return request.param, request.param(out=whole, device="cpu"), whole


def assert_same(rows, folder, kind):
    _, wanted, whole = kind
    assert list(rows) == list(wanted)
    mine, theirs = (read_tensors(at / "epoch-3.safetensors")[0] for at in (folder, whole))
    assert mine.keys() == theirs.keys()
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)
    assert {file.name for file in folder.iterdir()} == {file.name for file in whole.iterdir()}


@pytest.mark.parametrize("after", [1, 3])
def test_ctrl_c_loses_nothing(kind, tmp_path, after):
    seen = []

    def stop(moment):
        seen.append(moment.step)
        if len(seen) == after:
            os.kill(os.getpid(), signal.SIGINT)

    train, folder = kind[0], tmp_path / "run"
    with pytest.raises(Interrupted, match=r"interrupted at step \d+ of 12; saved in"):
        train(out=folder, device="cpu", progress=stop)
    assert RunFolder(folder).manifest()["status"] == "interrupted"
    assert_same(train(out=folder, device="cpu"), folder, kind)


def test_a_full_disk_loses_nothing(kind, tmp_path):
    train, folder = kind[0], tmp_path / "run"
    with small_disk(ROOM), pytest.raises(es.FileError, match=r"cannot write .*safetensors: "):
        train(out=folder, device="cpu", progress=None)
    assert {file.name for file in folder.iterdir()} <= {"manifest.json", "metrics.jsonl"}
    assert_same(train(out=folder, device="cpu"), folder, kind)


def test_no_room_at_all(kind, tmp_path):
    train, folder = kind[0], tmp_path / "run"
    with small_disk(10), pytest.raises(es.FileError, match=r"cannot write .*manifest.json: File"):
        train(out=folder, device="cpu")
    assert list(folder.iterdir()) == []


def test_a_run_of_another_kind_is_not_gone_on_with(kind):
    train, _, whole = kind
    other = on_parity if train is not on_parity else on_scan
    with pytest.raises(es.ConfigError, match=r"holds another run: kind '.*' -> '.*'; give another"):
        other(out=whole, device="cpu")


@pytest.mark.parametrize("text", ["{}", "[]"])
def test_a_manifest_of_something_else_is_told_as_such(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(es.FileError, match=r"manifest.json is not a run's; is this folder a run"):
        on_parity(out=tmp_path, device="cpu")


@pytest.mark.parametrize("train", [es.train_on_traces, es.train_readable])
@pytest.mark.parametrize(
    ("wrong", "says"),
    [([1, 0], "layer 1, input 1, position 0"), ([9], "input 1: position 0 holds token 9")],
)
def test_inputs_that_the_program_cannot_run_leave_no_folder(tmp_path, train, wrong, says):
    """Without START the first position reads its left neighbour, and there is none."""
    with pytest.raises(es.ProgramError, match=says):
        train(ENTRY.program, [[2, 1], wrong], out=tmp_path / "run", device="cpu")
    assert not (tmp_path / "run").exists()
