import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import suppress

import numpy as np
import pytest
import torch

from espalier.errors import ConfigError, FileError
from espalier.nets.lstm import checkpoints, language_model, load_language_model, read_tensors
from espalier.runs import (
    AtEpochs,
    AtSteps,
    EveryEpoch,
    Interrupted,
    Lines,
    LogSteps,
    Moment,
    Plan,
    RunFolder,
    clock,
    describe,
    describe_run,
    fit,
    recorded,
)
from espalier.training import EnsembleLearner, Member, Recipe, SingleLearner, TextLoss

CPU = torch.device("cpu")


def learner_of(kind, *, dropout=0.3, anneal=4.0):
    rng = np.random.default_rng(0)
    recipe = Recipe(window=5, batch=3, anneal=anneal)
    streams = torch.from_numpy(rng.integers(13, size=(2, 8 * 5 + 1, 3)))
    held_out = TextLoss.of(rng.integers(13, size=150), CPU)
    models = [language_model(vocabulary_size=13, hidden=6, dropout=dropout, seed=s) for s in (0, 1)]
    if kind == "alone":
        return SingleLearner(models[0], streams[0], recipe, measure=held_out, device=CPU)
    team = [Member(f"m{s}", model, s) for s, model in enumerate(models)]
    return EnsembleLearner(team, streams, recipe, measure=held_out, device=CPU)


@pytest.mark.parametrize("kind", ["alone", "ensemble"])
@pytest.mark.parametrize("cut", [1, 7, 8, 19])
def test_going_on_from_any_step_gives_the_same_numbers(tmp_path, kind, cut):
    whole = fit(learner_of(kind), Plan(4))
    folder = RunFolder.create(tmp_path)
    first = learner_of(kind)

    def stop_at(moment):
        if moment.step >= cut:
            os.kill(os.getpid(), signal.SIGINT)

    plan = Plan(4, slice_seconds=1e-9)
    with pytest.raises(Interrupted, match=f"interrupted at step {cut} of 32; saved in"):
        fit(first, plan, folder=folder, progress=stop_at)
    again = learner_of(kind)
    assert fit(again, plan, folder=folder) == whole
    assert folder.rows() == whole
    assert again.step == 32


def test_an_interrupt_in_the_last_stretch_is_not_forgotten(tmp_path, monkeypatch):
    """Else Ctrl-C would end one of many runs, or none."""
    folder, learner = RunFolder.create(tmp_path), learner_of("ensemble")
    whole = fit(learner_of("ensemble"), Plan(2))
    measure = learner.measure

    def interrupted_at_the_end():
        if learner.step == 16:
            signal.raise_signal(signal.SIGINT)
        return measure()

    monkeypatch.setattr(learner, "measure", interrupted_at_the_end)
    with pytest.raises(Interrupted, match="interrupted at step 16 of 16; saved in"):
        fit(learner, Plan(2), folder=folder)
    again = learner_of("ensemble")
    monkeypatch.setattr(again, "advance", None)  # nothing is left to do
    assert fit(again, Plan(2), folder=folder) == whole


def test_rows_and_checkpoints_after_the_resume_point_are_made_again(tmp_path):
    """As after a kill: what was measured later than the last saved state is dropped."""
    folder = RunFolder.create(tmp_path)
    whole = fit(learner_of("ensemble"), Plan(2))
    early = learner_of("ensemble")
    early.advance(5)
    folder.save_resume(early.state(), 5)
    folder.append_rows([{"step": 8, "epoch": 1.0, "member": "m0", "train_loss": 99.0}])
    assert fit(learner_of("ensemble"), Plan(2), folder=folder) == whole


SCRIPT = """
    import sys, time, torch
    sys.path.insert(0, {tests!r})
    from test_loop import learner_of
    from espalier.runs import RunFolder
    from espalier.runs import Plan, fit
    torch.set_num_threads(1)

    def never_end(moment):
        while moment.step >= 100 * 8:
            time.sleep(1)

    plan = Plan(400, save_seconds=0)
    fit(learner_of("ensemble"), plan, folder=RunFolder.create({out!r}), progress=never_end)
"""


def test_a_killed_run_goes_on_as_if_it_had_not_been(tmp_path):
    out = tmp_path / "run"
    tests = os.path.dirname(__file__)
    code = textwrap.dedent(SCRIPT.format(tests=tests, out=str(out)))
    child = subprocess.Popen(
        [sys.executable, "-c", code], env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    while child.poll() is None and not (len(checkpoints(out)) > 2 and RunFolder(out).resume_step()):
        time.sleep(0.002)
    child.kill()
    assert child.wait() == -signal.SIGKILL
    reached = int(RunFolder(out).load_resume()["taken"])
    assert 0 < reached < 400 * 8
    epochs = reached // 8 + 2
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        resumed = fit(learner_of("ensemble"), Plan(epochs), folder=RunFolder(out))
        assert resumed == fit(learner_of("ensemble"), Plan(epochs))
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("schedule", [AtSteps((999,)), AtEpochs((4, 5))])
def test_a_schedule_that_keeps_no_weights_is_refused(tmp_path, schedule):
    with pytest.raises(ConfigError, match=r"no weights would be saved by At.*3 epochs of 8 steps"):
        fit(learner_of("ensemble"), Plan(3, (schedule,)), folder=RunFolder.create(tmp_path))


def test_checkpoints_are_kept_as_scheduled_and_load(tmp_path):
    folder = RunFolder.create(tmp_path)
    learner = learner_of("ensemble")
    rows = fit(learner, Plan(3, (EveryEpoch(2), LogSteps(1), AtSteps((0, 5, 19)))), folder=folder)
    names = [file.stem for file in checkpoints(tmp_path)]
    assert names == [
        "step-0",
        "step-1",
        "step-2",
        "step-4",
        "step-5",
        "epoch-1",
        "epoch-2",
        "step-19",
        "epoch-3",
    ]
    assert names == list(folder.checkpoints())
    assert {row["step"] for row in rows} == {1, 2, 4, 5, 8, 16, 19, 24}
    metadata = read_tensors(tmp_path / "epoch-2.safetensors")[1]
    assert json.loads(metadata["metrics"]) == [row for row in rows if row["step"] == 16]
    last = load_language_model(tmp_path, member="m1")
    assert torch.equal(last.encoder.weight, learner.weights["encoder.weight"][1].detach())
    assert torch.equal(
        load_language_model(tmp_path / "step-0", member=0).decoder.weight,
        language_model(vocabulary_size=13, hidden=6, seed=0).decoder.weight,
    )


def test_training_ends_when_annealing_has():
    learner = learner_of("alone")
    learner.recipe = Recipe(window=5, batch=3, anneal=100.0, smallest_rate=0.5)
    rows = fit(learner, Plan(500))
    assert learner.finished
    assert len(rows) < 500


def test_tables_become_parquet(tmp_path):
    folder = RunFolder.create(tmp_path)
    rows = fit(learner_of("ensemble"), Plan(2), folder=folder)
    assert [file.name for file in folder.tidy()] == ["metrics.parquet"]
    assert not (tmp_path / "metrics.jsonl").exists()
    assert folder.rows() == rows
    assert fit(learner_of("ensemble"), Plan(3), folder=folder)[: len(rows)] == rows


def test_a_column_that_came_later_is_kept(tmp_path):
    """As in a run resumed by a version that measures more."""
    folder = RunFolder.create(tmp_path)
    folder.append_rows([{"step": 1, "loss": 2.0}, {"step": 2, "loss": 1.0, "end_given": 0.5}])
    folder.tidy()
    assert folder.rows() == [
        {"step": 1, "loss": 2.0, "end_given": None},
        {"step": 2, "loss": 1.0, "end_given": 0.5},
    ]


@pytest.mark.parametrize("left", [0, 100])
def test_a_lost_checkpoint_of_the_resume_point_is_kept_again(tmp_path, left):
    folder = RunFolder.create(tmp_path)
    rows = fit(learner_of("ensemble"), Plan(2), folder=folder)
    file = tmp_path / "epoch-2.safetensors"
    weights, said = read_tensors(file)
    whole = file.read_bytes()
    file.unlink()  # not overwritten: the weights that were read may still lie in it
    if left:
        file.write_bytes(whole[:left])
    assert fit(learner_of("ensemble"), Plan(2), folder=folder) == rows
    again, said_again = read_tensors(file)
    assert said_again == said
    assert all(torch.equal(again[name], tensor) for name, tensor in weights.items())
    before = file.stat().st_mtime_ns
    fit(learner_of("ensemble"), Plan(2), folder=folder)
    assert file.stat().st_mtime_ns == before


def test_damaged_measures_are_told_by_their_file(tmp_path):
    folder = RunFolder.create(tmp_path)
    rows = fit(learner_of("ensemble"), Plan(2), folder=folder)
    (file,) = folder.tidy()
    file.write_bytes(file.read_bytes()[:100])
    for ask in (folder.rows, lambda: fit(learner_of("ensemble"), Plan(3), folder=folder)):
        with pytest.raises(FileError, match=r"metrics.parquet is damaged .*; remove it to"):
            ask()
    file.unlink()
    whole = fit(learner_of("ensemble"), Plan(3))
    with pytest.warns(UserWarning, match=r"lacks rows of metrics .* of step 8, 16; training"):
        found = fit(learner_of("ensemble"), Plan(3), folder=folder)
    assert found == whole[len(rows) :]


def test_measures_that_a_copy_lacks_are_told(tmp_path):
    """A folder that is copied while it is worked on may have a later state than measures."""
    folder = RunFolder.create(tmp_path)
    fit(learner_of("ensemble"), Plan(4), folder=folder)
    folder.write_rows([row for row in folder.rows() if row["step"] not in (16, 24)])
    with pytest.warns(UserWarning, match=r"lacks rows of metrics .* of step 16, 24; training"):
        found = fit(learner_of("ensemble"), Plan(5), folder=folder)
    assert {row["step"] for row in found} == {8, 32, 40}


def test_a_run_off_the_main_thread_needs_no_signals():
    found = []
    thread = threading.Thread(target=lambda: found.append(fit(learner_of("alone"), Plan(1))))
    thread.start()
    thread.join()
    assert len(found[0]) == 1


def test_lines_say_where_a_run_is(capsys):
    row = {"step": 8, "epoch": 1.0, "member": "m0", "train_loss": 2.5}
    moment = Moment(8, 32, 8, seconds=2.0, taken=8, rows=(row,))
    assert describe(moment) == "step 8/32  epoch 1.00  4.0 steps/s  0:06 to go  train_loss 2.5"
    lines = Lines(sys.stdout, every=3600)
    lines(Moment(9, 32, 8, seconds=2.0, taken=9))
    lines(moment)
    assert capsys.readouterr().out == describe(moment) + "\n"
    assert clock(3723) == "1:02:03"
    assert clock(float("inf")) == "?"


def test_a_manifest_says_on_what_a_run_was_worked_on_before(tmp_path):
    folder, about = RunFolder.create(tmp_path), describe_run("k", {}, data={}, device=CPU)
    h200 = about | {"device": "NVIDIA H200", "threads": 16}
    with suppress(KeyboardInterrupt), recorded(folder, h200):
        raise KeyboardInterrupt
    for _ in range(2):
        with suppress(KeyboardInterrupt), recorded(folder, about):
            raise KeyboardInterrupt
    with recorded(folder, about):
        pass
    with recorded(folder, about | {"threads": 3}):  # nothing was left to do
        pass
    found = folder.finished("k")
    assert (found["device"], found["threads"]) == ("cpu", about["threads"])
    before = {name: h200[name] for name in ("device", "threads", "versions")}
    assert found["earlier"] == [before]
