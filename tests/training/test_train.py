"""Every kind of run: stopped, or out of disk space, it is resumed and ends as one that was not."""

import os
import shutil
import signal
from dataclasses import replace

import pandas as pd
import pytest
import torch

import espalier as es
from espalier.data import ParityConfig, ScaffoldConfig
from espalier.errors import ConfigError, FileError
from espalier.learnability import supervision
from espalier.learnability.supervision import ReadableSettings, TraceSettings
from espalier.loading import load_network
from espalier.nets.lstm import read_tensors
from espalier.nets.transformer.model import TransformerShape
from espalier.runs import Interrupted, RunFolder, Snapshot, describe_run, list_runs
from espalier.training import KINDS, SYMBOLS, Network, Recipe, StepRecipe, open_run, seed_of
from small_disk import small_disk

ENTRY = es.zoo.load("parity-sequential-relative")
INPUTS = [ENTRY.encode(text) for text in ("1", "01", "110", "1011")]
RECIPE = StepRecipe(12, 6, 1e-2, "adafactor", measures=3, precision="float32")
SIZES = {"width": 16, "hidden": 16, "heads": 2, "head_width": 8}
ROOM = 1_500  # bytes: a manifest fits, weights do not


TRACES = es.TraceRun(ENTRY.program, INPUTS, TraceSettings(2, 16, recipe=RECIPE), seeds=2)
READABLE = es.ReadableRun(
    ENTRY.program, INPUTS, ReadableSettings(**SIZES, recipe=RECIPE), seeds=(3, 1)
)
PARITY = es.ParityRun(
    TransformerShape(3, 2, **SIZES, layers=2),
    train=ParityConfig(4, 5),
    test=ParityConfig(8, 4, 1),
    recipe=RECIPE,
    seeds=2,
)
SCAN = es.ScanRun(
    TransformerShape(len(SYMBOLS), len(SYMBOLS), **SIZES, layers=2, decoder=True),
    ("upto:1,2",),
    RECIPE,
    seeds=2,
    tests=9,
)
SCAFFOLD = es.ScaffoldRun(
    ScaffoldConfig(tokens=720, vocabulary=20, rules=20, scaffolds=5, copies=4, tests=5),
    Network(hidden=6, dropout=0.2),
    Recipe(epochs=3, batch=6, window=30),
)
EVERY = [TRACES, READABLE, PARITY, SCAN, SCAFFOLD]


@pytest.fixture(scope="module", params=EVERY, ids=lambda run: run.kind)
def kind(request, tmp_path_factory):
    """A kind of run, and one that nothing happened to."""
    whole = tmp_path_factory.mktemp("whole") / "run"
    return request.param, es.train(request.param, whole, device="cpu").rows, whole


def assert_same(rows, folder, kind):
    _, wanted, whole = kind
    assert list(rows) == list(wanted)
    mine, theirs = (read_tensors(at / "epoch-3.safetensors")[0] for at in (folder, whole))
    assert mine.keys() == theirs.keys()
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)
    assert {file.name for file in folder.iterdir()} == {file.name for file in whole.iterdir()}


@pytest.mark.parametrize(("after", "raised"), [(1, False), (3, False), (2, True)])
def test_ctrl_c_loses_nothing(kind, tmp_path, after, raised):
    """Whether a signal comes, or the progress callback raises what Ctrl-C does."""
    seen = []

    def stop(moment):
        seen.append(moment.step)
        if len(seen) == after:
            if raised:
                raise KeyboardInterrupt
            os.kill(os.getpid(), signal.SIGINT)

    config, folder = kind[0], tmp_path / "run"
    with pytest.raises(Interrupted, match=r"interrupted at step \d+ of (12|9); saved in"):
        es.train(config, folder, device="cpu", progress=stop)
    assert RunFolder(folder).manifest()["status"] == "interrupted"
    assert_same(es.train(config, folder, device="cpu").rows, folder, kind)


def test_a_full_disk_loses_nothing(kind, tmp_path):
    config, folder = kind[0], tmp_path / "run"
    with (
        small_disk(ROOM),
        pytest.raises(es.FileError, match=r"cannot write .*(safetensors|json): "),
    ):
        es.train(config, folder, device="cpu")
    assert {file.name for file in folder.iterdir()} <= {
        "manifest.json",
        "metrics.jsonl",
        "program.json",
    }
    assert_same(es.train(config, folder, device="cpu").rows, folder, kind)


def test_no_room_at_all(kind, tmp_path):
    config, folder = kind[0], tmp_path / "run"
    with small_disk(10), pytest.raises(es.FileError, match=r"cannot write .*manifest.json: File"):
        es.train(config, folder, device="cpu")
    assert list(folder.iterdir()) == []


def test_a_run_of_another_kind_is_not_resumed(kind):
    config, _, whole = kind
    other = PARITY if config is not PARITY else SCAN
    with pytest.raises(es.ConfigError, match=r"holds another run: kind '.*' -> '.*'; give another"):
        es.train(other, whole, device="cpu")


@pytest.mark.parametrize("text", ["{}", "[]"])
def test_a_manifest_of_something_else_is_reported(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(es.FileError, match=r"manifest.json is not a run's; is this folder a run"):
        es.train(PARITY, tmp_path, device="cpu")


@pytest.mark.parametrize("kind", [es.TraceRun, es.ReadableRun])
@pytest.mark.parametrize(
    ("wrong", "says"),
    [([1, 0], "layer 1, input 1, position 0"), ([9], "input 1: position 0 holds token 9")],
)
def test_inputs_that_the_program_cannot_run_leave_no_folder(tmp_path, kind, wrong, says):
    """Without START the first position reads its left neighbour, and there is none."""
    with pytest.raises(es.ProgramError, match=says):
        es.train(kind(ENTRY.program, [[2, 1], wrong]), tmp_path / "run", device="cpu")
    assert not (tmp_path / "run").exists()


def test_a_folder_gives_back_what_train_returned(kind):
    """Config, measures and models: whatever the models say, they say it again."""
    config, rows, whole = kind
    found = open_run(whole, kinds=(*KINDS, *supervision.KINDS), device="cpu")
    assert (found.kind, found.rows, found.folder) == (config.kind, rows, whole)
    assert found.step == rows[-1]["step"]
    assert found.config.to_dict() == config.to_dict()
    again = es.train(config, whole, device="cpu")
    assert again.rows == rows
    assert again.weights.tensors.keys() == found.weights.tensors.keys()
    for name, tensor in again.weights.tensors.items():
        assert torch.equal(tensor, found.weights.tensors[name])
    assert len(found.models) == len(found.members) == len(again.models)
    assert found.to_frame().to_dict("records") == list(rows)
    assert str(found) == str(again)
    assert len(repr(found)) < 500


def test_one_model_or_several(kind):
    config, _, whole = kind
    found = open_run(whole, kinds=(*KINDS, *supervision.KINDS), device="cpu")
    if config is SCAFFOLD:
        assert found.model is found.models[0]
        with pytest.raises(es.ModelError, match="models of kind 'scaffold' give no answers"):
            found.ask(["1"])
    else:
        with pytest.raises(es.ModelError, match=r"2 models were trained \(.*\): see models"):
            found.model  # noqa: B018


def test_seeds_are_a_number_or_a_list():
    assert es.train(PARITY, seeds=3, device="cpu").members == ("seed-0", "seed-1", "seed-2")
    found = es.train(PARITY, seeds=[7, 1], device="cpu")
    assert found.members == ("seed-7", "seed-1")
    assert [row["seed"] for row in found.rows[:2]] == [7, 1]
    several = es.train(SCAFFOLD, seeds=(4, 2), device="cpu")
    assert [one.corpus.seed for one in several.config] == [4, 2]
    assert len(several.models) == 2
    alone = es.train(SCAFFOLD, seeds=[2], device="cpu")
    mine = [row for row in several.rows if row["seed"] == 2]
    assert [row["train_loss"] for row in mine] == pytest.approx(
        [row["train_loss"] for row in alone.rows], rel=1e-4
    )
    for seeds in (0, [], [1, 1], "12", 0.5, [True]):
        with pytest.raises(es.ConfigError, match=r"seeds are .*; say how many, or give integers"):
            es.train(PARITY, seeds=seeds)


def test_what_cannot_be_trained_at_once_is_refused():
    with pytest.raises(es.ConfigError, match=r"several kinds \(parity, scan\) cannot be trained"):
        es.train([PARITY, SCAN])
    for config in (PARITY, SCAN, TRACES, READABLE):
        with pytest.raises(es.ConfigError, match="differ in"):
            es.train([config, config])


def test_only_a_finished_run_of_the_kinds_asked_for_is_opened(kind, tmp_path):
    config, _, whole = kind
    other = es.ScanRun if config is not SCAN else es.ParityRun
    with pytest.raises(es.ModelError, match=f"of kind '{other.kind}': the run there is of kind"):
        open_run(whole, kinds=[other])
    with pytest.raises(es.ModelError, match="no run is there; train one first: `espalier train "):
        open_run(tmp_path / "none", kinds=KINDS)
    manifest = RunFolder(whole).manifest()
    copy = RunFolder.create(tmp_path / "copy")
    copy.write_manifest(manifest | {"status": "interrupted"})
    with pytest.raises(es.ModelError, match="there is interrupted; the same settings resume"):
        open_run(copy.path, kinds=[type(config)])
    copy.write_manifest(manifest)
    with pytest.raises(es.FileError, match=r"holds no checkpoint|does not hold the program"):
        open_run(copy.path, kinds=[type(config)])


def test_a_run_is_drawn_and_saved(kind, tmp_path):
    found = open_run(kind[2], kinds=(*KINDS, *supervision.KINDS), device="cpu")
    for suffix in ("html", "csv", "png"):
        found.save(tmp_path / f"run.{suffix}")
    assert found.members[0] in (tmp_path / "run.html").read_text()


@pytest.mark.parametrize("settings", [{"seed": 1e9}, {"seed": True}, {"seed": 10**30}, {}])
@pytest.mark.parametrize("corpus", [None, 3, {"seed": 10**30}])
def test_a_seed_that_a_manifest_does_not_say_is_not_known(tmp_path, settings, corpus):
    folder = RunFolder.create(tmp_path)
    folder.save_checkpoint("epoch-1", Snapshot({}, {"step": "1"}))
    for config in (settings | {"corpus": corpus}, {"members": []}, {"members": [3]}):
        about = describe_run("scaffold", config, data={}, device=torch.device("cpu"))
        folder.write_manifest(about)
        assert seed_of(tmp_path) is None


FOREIGN = ("mine.parquet", "notes.jsonl", "rows.jsonl", "gradients.parquet")


@pytest.mark.parametrize("row", [{"when": "today"}, {"step": 3, "member": "seed-0", "loss": 1.0}])
@pytest.mark.parametrize("name", FOREIGN)
def test_tables_of_the_user_in_a_run_stay_as_they_are(tmp_path, name, row):
    """Only what its manifest names is the run's, whatever columns others have."""
    frame = pd.DataFrame([row])
    run = tmp_path / "run"
    es.train(PARITY, run, device="cpu")
    if name.endswith("parquet"):
        frame.to_parquet(run / name)
    else:
        frame.to_json(run / name, orient="records", lines=True)
    held = (run / name).read_bytes()
    es.train(PARITY, run, device="cpu")
    list_runs(tmp_path)
    assert (run / name).read_bytes() == held


@pytest.mark.parametrize(
    "name", [*FOREIGN, "epoch-1.safetensors", "resume.safetensors", "figure.png"]
)
def test_a_run_does_not_begin_among_files_that_it_could_write_over(tmp_path, name):
    (tmp_path / name).write_bytes(b"mine")
    with pytest.raises(es.ConfigError, match=f"holds no run, but {name}, of something else"):
        es.train(PARITY, tmp_path, device="cpu")
    with pytest.raises(es.ConfigError, match=f"holds no run, but {name}, of something else"):
        es.reproduce("alta-table-2", scale="smoke", out=tmp_path, runs=tmp_path / "runs")
    assert (tmp_path / name).read_bytes() == b"mine"


def test_a_finished_run_without_its_state_is_not_trained_again(kind, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(kind[2], folder)
    (folder / "resume.safetensors").unlink()
    held = {file.name: file.read_bytes() for file in folder.iterdir()}
    with pytest.raises(es.FileError, match=r"is finished, and its resume\.safetensors is missing"):
        es.train(kind[0], folder, device="cpu")
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == held


@pytest.mark.parametrize("recipe", [{"optimiser": "adamw"}, {"settle": 1}, {}])
def test_more_epochs_are_the_same_run_unless_its_rate_depends_on_them(tmp_path, recipe):
    def of(epochs):
        return replace(SCAFFOLD, recipe=replace(SCAFFOLD.recipe, epochs=epochs, **recipe))

    whole = es.train(of(3), device="cpu").rows
    es.train(of(2), tmp_path, device="cpu")
    if recipe:
        falls = r"recipe\.epochs 2 -> 3 \(its learning rate depends .*\); give another"
        with pytest.raises(ConfigError, match=falls):
            es.train(of(3), tmp_path, device="cpu")
    else:
        assert es.train(of(3), tmp_path, device="cpu").rows == whole


def test_earlier_weights_are_not_read_in_place_of_lost_ones(tmp_path):
    """Unless they are asked for by their file; and the last ones are written again."""
    rows = es.train(SCAFFOLD, tmp_path, device="cpu").rows
    last = tmp_path / "epoch-3.safetensors"
    whole, said = read_tensors(last)
    lost = r"has lost its last weights, epoch-3\.safetensors; copy"
    last.unlink()
    for ask in (es.load, load_network):
        with pytest.raises(FileError, match=lost):
            ask(tmp_path)
    assert es.load(tmp_path / "epoch-2.safetensors").shape.hidden == SCAFFOLD.network.hidden
    assert es.train(SCAFFOLD, tmp_path, device="cpu").rows == rows
    again, says = read_tensors(last)
    assert says == said
    assert all(torch.equal(again[name], whole[name]) for name in whole)
    (tmp_path / "epoch-1.safetensors").unlink()  # to make room
    assert es.load(tmp_path).step == rows[-1]["step"]
