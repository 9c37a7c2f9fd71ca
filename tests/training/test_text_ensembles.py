"""Seeds of a language model of text trained as one ensemble: each as if it had been alone."""

import os
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import espalier as es
from espalier.data import BranchingConfig, branching_corpus
from espalier.errors import ConfigError, FileError
from espalier.nets.language import load_language_model
from espalier.runs import Interrupted, RunFolder, locked
from espalier.training import (
    Network,
    Recipe,
    TextRun,
    read_sweep,
    run_sweep,
    text,
    train,
    train_ensembles,
)
from espalier.training.sweep import splitting
from espalier.training.sweep.running import is_pending
from killed_writes import ends_at_a_write
from training.test_sweep import assert_same_folder

EARLY = {"epochs": 6, "learning_rate": 12.0, "anneal": 20.0, "smallest_rate": 2.0}


@pytest.fixture(autouse=True)
def _together_on_cpus(monkeypatch):
    monkeypatch.setattr(text, "TOGETHER_ON", ("cpu",))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    place = tmp_path_factory.mktemp("text")
    branching_corpus(BranchingConfig("left", words=20, governed=3, sentences=80, tests=50)).save(
        place
    )
    return str(place / "text.txt")


def seeds_of(data, count=3, *, architecture="lstm", keep="step:0,3+epochs:1", **recipe):
    settings = {"epochs": 3, "batch": 5, "window": 10, "learning_rate": 5.0} | recipe
    network = Network(hidden=8, heads=2, layers=1, architecture=architecture, dropout=0.2)
    run = TextRun(data, None, network, Recipe(**settings), keep=keep, engine="batched")
    return run.with_seeds(tuple(range(count)))


def train_in(place, runs, progress=None):
    cells = {place / run.member: run for run in runs}
    train_ensembles(place, cells, device="cpu", progress=progress)
    for path, run in cells.items():
        if is_pending(path, run):  # the only one that is left, or at another step
            train(run, path, device="cpu", progress=progress)
    return list(cells)


def stop_after(step):
    def stop(moment):
        if moment.step >= step:
            os.kill(os.getpid(), signal.SIGINT)

    return stop


def said(folder):
    manifest = RunFolder(folder).manifest()
    times = ("began", "seconds", "trained_beside")
    return {name: value for name, value in manifest.items() if name not in times}


def assert_as_alone(mine, alone):
    """The same but for rounding: products of several models may round otherwise than one's."""
    ours, others = RunFolder(mine), RunFolder(alone)
    assert said(mine) == said(alone)
    for a, b in zip(ours.measured(), others.measured(), strict=True):
        assert list(a) == list(b)
        for name, value in a.items():
            assert value == (
                b[name] if isinstance(value, str) else pytest.approx(b[name], rel=1e-5)
            )
    states = ours.load_resume(), others.load_resume()
    assert ours.resume_step() == others.resume_step()
    assert_close(*states)
    assert ours.checkpoints() == others.checkpoints()
    for name in ours.checkpoints():
        models = [load_language_model(folder / name) for folder in (mine, alone)]
        assert_close(*(model.state_dict() for model in models))
        shapes = [model.shape.to_dict() for model in models]
        assert shapes[0] == shapes[1] | {"dropout": pytest.approx(shapes[1]["dropout"])}
        assert models[0].vocabulary == models[1].vocabulary


def assert_close(mine, theirs):
    assert mine.keys() == theirs.keys()
    for name, tensor in mine.items():
        torch.testing.assert_close(tensor, theirs[name], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("architecture", ["lstm", "gru", "transformer"])
def test_an_ensemble_split_is_each_seed_alone(tmp_path, data, architecture):
    by = {"optimiser": "adamw", "learning_rate": 1e-3} if architecture == "transformer" else {}
    runs = seeds_of(data, architecture=architecture, **by)
    folders = train_in(tmp_path, runs)
    assert [path.name for path in folders] == ["seed-0", "seed-1", "seed-2"]
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in folders}
    for run, folder in zip(runs, folders, strict=True):
        alone = tmp_path / f"alone-{run.seed}"
        train(run, alone, device="cpu")
        assert_as_alone(folder, alone)
        assert RunFolder(folder).manifest()["trained_beside"] == 2
        found = es.load(folder)
        assert (found.config, found.members, found.step) == (run, ("model",), found.step)


def test_a_seed_whose_rate_has_fallen_leaves_the_others_where_it_ends_alone(tmp_path, data):
    runs = seeds_of(data, **EARLY)
    folders = train_in(tmp_path, runs)
    ends = []
    for run, folder in zip(runs, folders, strict=True):
        alone = tmp_path / f"alone-{run.seed}"
        ends.append(train(run, alone, device="cpu").rows[-1]["epoch"])
        assert_as_alone(folder, alone)
    assert len(set(ends)) > 1, "the law is of seeds that end at different epochs"
    assert not list(tmp_path.glob(".ensemble*"))


def test_seeds_whose_rate_is_too_small_from_the_start_end_as_they_do_alone(tmp_path, data):
    runs = seeds_of(data, 2, learning_rate=0.5, smallest_rate=1.0)
    for folder in train_in(tmp_path, runs):
        assert RunFolder(folder).manifest()["status"] == "finished"
        assert not RunFolder(folder).rows()


@pytest.mark.parametrize("recipe", [{}, EARLY])
def test_what_was_stopped_goes_on_to_the_same_end(tmp_path, data, recipe):
    runs = seeds_of(data, **recipe)
    whole = train_in(tmp_path / "whole", runs)
    per_epoch = RunFolder(whole[0]).rows()[-1]["step"] // int(
        RunFolder(whole[0]).rows()[-1]["epoch"]
    )
    for step in (1, per_epoch + 2):
        with pytest.raises(Interrupted, match=r"saved in .*\.ensemble-"):
            train_in(tmp_path / "stopped", runs, stop_after(step))
    steps = []
    stopped = train_in(tmp_path / "stopped", runs, lambda moment: steps.append(moment.step))
    assert min(steps) > per_epoch + 2
    for mine, theirs in zip(stopped, whole, strict=True):
        assert_same_folder(mine, theirs)
        assert said(mine) == said(theirs)


@pytest.mark.parametrize(
    ("name", "writes", "recipe"),
    [
        ("write_manifest", 0, {}),
        ("write_manifest", 1, {}),
        ("save_resume", 1, {}),
        ("save_checkpoint", 2, {}),
        ("write_manifest", 2, EARLY),  # one whose rate had fallen had left, and was whole
    ],
)
def test_a_kill_while_it_is_split_trains_nothing_again(
    tmp_path, data, monkeypatch, name, writes, recipe
):
    runs = seeds_of(data, **recipe)
    whole = train_in(tmp_path / "whole", runs)
    with (
        ends_at_a_write(monkeypatch, name, after=writes, error=MemoryError),
        pytest.raises(MemoryError),
    ):
        train_in(tmp_path / "killed", runs)
    steps = []
    killed_there = train_in(tmp_path / "killed", runs, lambda moment: steps.append(moment.step))
    assert all(step > 20 for step in steps) if recipe else not steps
    for mine, theirs in zip(killed_there, whole, strict=True):
        assert_same_folder(mine, theirs)
        assert said(mine) == said(theirs)
    assert not list((tmp_path / "killed").glob(".ensemble*"))


def test_a_split_keeps_no_more_than_one_checkpoint_twice(tmp_path, data, monkeypatch):
    twice, save = [], RunFolder.save_checkpoint

    def saving(folder, *given, **named):
        found = save(folder, *given, **named)
        for ensemble in folder.path.parent.glob(".ensemble*"):
            kept = RunFolder(ensemble).checkpoints().keys()
            if folder.path != ensemble:
                twice.append(len(kept & folder.checkpoints().keys()))
        return found

    monkeypatch.setattr(RunFolder, "save_checkpoint", saving)
    runs = seeds_of(data)
    folders = train_in(tmp_path, runs)
    assert twice == [1] * sum(len(RunFolder(folder).checkpoints()) for folder in folders)


def test_what_members_have_outlives_a_power_cut_before_the_ensemble_is_removed(
    tmp_path, data, monkeypatch
):
    settled: list[Path] = []
    monkeypatch.setattr(splitting, "settle", settled.append)
    remove = RunFolder.remove_checkpoint

    def removing(folder, name):
        given = {file.parent for file in settled if file.stem == name}
        assert len(given) == 3
        remove(folder, name)

    monkeypatch.setattr(RunFolder, "remove_checkpoint", removing)
    for folder in train_in(tmp_path, seeds_of(data)):
        assert folder in settled  # each file was flushed before it took its name


@pytest.mark.filterwarnings("ignore:.* was left by process")
@pytest.mark.parametrize("recipe", [{}, EARLY])
def test_what_was_killed_goes_on_to_the_same_end(tmp_path, data, monkeypatch, recipe):
    """What is on the disk at some moment is what a kill then leaves."""
    runs, plan, seen = seeds_of(data, **recipe), TextRun.plan, []
    monkeypatch.setattr(TextRun, "plan", lambda run: replace(plan(run), save_seconds=0.0))

    def look(moment):
        if not seen or moment.step >= seen[-1] + 8:
            seen.append(moment.step)
            shutil.copytree(tmp_path / "whole", tmp_path / f"killed-{moment.step}")

    whole = train_in(tmp_path / "whole", runs, look)
    for step in seen:
        steps = []
        folders = train_in(
            tmp_path / f"killed-{step}", runs, lambda moment, steps=steps: steps.append(moment.step)
        )
        assert step == seen[0] or all(one > seen[0] for one in steps)
        for mine, theirs in zip(folders, whole, strict=True):
            assert_same_folder(mine, theirs)
            assert said(mine) == said(theirs)
    assert len(seen) > 2


def test_seeds_that_are_trained_are_not_trained_again(tmp_path, data):
    runs, ours = seeds_of(data, 5), tmp_path / "ours"
    for run in runs[:2]:
        train(run, ours / run.member, device="cpu")
    before = [(ours / run.member / "manifest.json").read_bytes() for run in runs[:2]]
    folders = train_in(ours, runs)
    assert [(ours / run.member / "manifest.json").read_bytes() for run in runs[:2]] == before
    assert [RunFolder(path).manifest().get("trained_beside") for path in folders] == [
        None, None, 2, 2, 2,
    ]  # fmt: skip
    told = []
    train_in(ours, runs, told.append)
    assert not told


def test_a_seed_goes_on_alone_after_the_split(tmp_path, data):
    runs = seeds_of(data, keep="epoch")
    whole = train_in(tmp_path / "whole", runs)
    with pytest.raises(Interrupted):
        train_in(tmp_path / "stopped", runs, stop_after(12))
    train_ensembles(tmp_path / "stopped", {}, device="cpu")  # only what was left is split
    folder, steps = tmp_path / "stopped" / "seed-1", []
    assert RunFolder(folder).manifest()["status"] == "interrupted"
    reached = RunFolder(folder).resume_step()
    train(runs[1], folder, device="cpu", progress=lambda moment: steps.append(moment.step))
    assert min(steps) > reached >= 12
    assert_as_alone(folder, whole[1])
    more = replace(runs[2], recipe=replace(runs[2].recipe, epochs=5))
    train(more, whole[2], device="cpu")
    train(more, tmp_path / "more", device="cpu")
    assert_as_alone(whole[2], tmp_path / "more")


def test_an_ensemble_of_others_is_not_given_away(tmp_path, data):
    with pytest.raises(Interrupted):
        train_in(tmp_path, seeds_of(data), stop_after(1))
    (folder,) = map(RunFolder, tmp_path.glob(".ensemble*"))
    manifest = folder.manifest()
    members = manifest["config"]["members"]
    for wrong in (members[::-1], members[:2], [3, 4, 5], [{"seed": 0, "no": 1}] * 3):
        folder.write_manifest(manifest | {"config": {"members": wrong}})
        with pytest.raises(FileError, match="is not that of an ensemble of seed-0, seed-1, seed-2"):
            train_in(tmp_path, seeds_of(data))


def test_other_seeds_in_their_folders_and_held_ones_are_refused(tmp_path, data):
    runs = seeds_of(data, 2)
    folders = train_in(tmp_path, runs)
    others = [replace(run, network=Network(hidden=9)) for run in runs]
    with pytest.raises(ConfigError, match=r"seed-0 holds another run: network\.dropout"):
        train_in(tmp_path, others)
    with locked(tmp_path), pytest.raises(FileError, match="is being worked on"):
        train_in(tmp_path, seeds_of(data, 4))
    assert all(RunFolder(folder).manifest()["status"] == "finished" for folder in folders)


def test_a_sweep_over_seeds_is_one_ensemble_where_text_is_trained_so(tmp_path, data, monkeypatch):
    table = tmp_path / "table.toml"
    told, folders = {}, {}
    for name, devices in (("together", ("cpu",)), ("apart", ("cuda",))):
        monkeypatch.setattr(text, "TOGETHER_ON", devices)
        sizes = "recipe.epochs = 2\nnetwork.hidden = 8\nrecipe.batch = 5\nrecipe.window = 10\n"
        head = f"kind = 'text'\nengine = 'batched'\nout = '{tmp_path / name}'\ndata = '{data}'\n"
        table.write_text(f"{head}{sizes}[grid]\nseed = [1, 2]\n")
        told[name] = set()
        folders[name] = run_sweep(
            read_sweep(table), device="cpu", progress=lambda m, seen=told[name]: seen.add(m.name)
        )
    assert [name.startswith(".ensemble-") for name in told["together"]] == [True]
    assert told["apart"] == {"seed=1", "seed=2"}
    for mine, theirs in zip(folders["together"], folders["apart"], strict=True):
        assert_as_alone(mine, theirs)


def test_on_a_cpu_and_by_the_other_engine_each_is_trained_alone(data, monkeypatch):
    run, other = seeds_of(data, 2)
    assert run.shared(torch.device("cpu")) == other.shared(torch.device("cpu")) != ""
    plain = replace(run, engine="alone")
    monkeypatch.undo()
    assert run.shared(torch.device("cpu")) == plain.shared(torch.device("cuda")) == ""
    assert run.shared(torch.device("cuda")) == other.shared(torch.device("cuda")) != ""
