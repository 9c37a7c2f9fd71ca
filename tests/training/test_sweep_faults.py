"""Sweeps that are stopped, killed, grown or asked for twice: nothing is trained again or lost."""

import contextlib
import json
import os
import shutil
import signal
import threading
import time
from dataclasses import replace

import pytest

from espalier.errors import ConfigError, EspalierError, FileError
from espalier.runs import LOCK, FolderHeldError, RunFolder, describe, locked
from espalier.training import read_sweep, run_sweep, train
from espalier.training.sweep import ensembles, make_cells, pending, running, watching
from espalier.training.sweep import folders as sweep_folders
from killed_writes import ends_at_a_write
from training.test_sweep import assert_same_folder

TOML = """
out = "{out}"
workers = {workers}
[corpus]
tokens = 1500
vocabulary = 20
rules = 50
scaffolds = 10
copies = 20
tests = 20
[network]
hidden = {hidden}
[recipe]
epochs = {epochs}
batch = 5
window = 10
[grid]
corpus.length = [2]
corpus.seed = {seeds}
"""


def plan(tmp_path, name, *, seeds=(0, 1, 2), epochs=2, hidden=8, workers=0):
    file, out = tmp_path / f"{name}.toml", (tmp_path / name).as_posix()
    settings = {"epochs": epochs, "hidden": hidden, "workers": workers, "seeds": list(seeds)}
    file.write_text(TOML.format(out=out, **settings))
    return read_sweep(file)


def stop_after(step):
    def stop(moment):
        if moment.rows and moment.step >= step:
            os.kill(os.getpid(), signal.SIGINT)

    return stop


def test_duplicate_cells_are_refused_by_name(tmp_path):
    with pytest.raises(ConfigError, match=r"cell 'length=2-seed=1' is asked for twice"):
        plan(tmp_path, "twice", seeds=(0, 1, 1))
    file = tmp_path / "same.toml"
    file.write_text("[grid]\nrecipe.learning_rate = [1, 1.0]\n")
    with pytest.raises(ConfigError, match=r"'learning_rate=1.0' .*the other is 'learning_rate=1'"):
        read_sweep(file)


def test_a_grid_that_memory_cannot_hold_is_refused_before_a_cell_is_made():
    names = ("seed", "length", "tokens", "rules", "copies")
    with pytest.raises(ConfigError, match=r"10,000,000,000 cells; .*vary fewer settings \(corpus"):
        make_cells("scaffold", {}, {f"corpus.{name}": [0] * 100 for name in names})


def test_names_of_cells_stay_in_the_folder_of_the_sweep():
    grid = {"data": ["../../a/b.txt", "/c.txt"], "seed": [0]}
    assert [cell.name for cell in make_cells("text", {}, grid)] == [
        "data=.._.._a_b.txt-seed=0",
        "data=_c.txt-seed=0",
    ]
    with pytest.raises(ConfigError, match=r"asked for twice"):
        make_cells("text", {}, {"data": ["a/b", "a_b"]})
    with pytest.raises(ConfigError, match=r"'never' is not a checkpoint schedule"):
        make_cells("scaffold", {}, {"keep": ["epoch", "never"]})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("out = 3", "out is 3; give the name of a folder"),
        ("out = ''", "out is ''; give"),
        ("kind = ['scaffold']", "kind is"),
        ("grid = 4", "grid is 4; a table"),
        (f"grid.{'a.' * 3_000}b = [1]", r"a\.a\.\.\.\. is nested deeper than any setting"),
        (f"[grid]\ncorpus.seed = [{'1, ' * 100_001}]", "the grid has 100,001 cells; at most"),
        ("workers = " + "9" * 5_000, "is not TOML: Exceeds the limit"),
        ("#" * (1 << 20) + "\n", "has more than 1,048,576 bytes"),
    ],
)
def test_a_sweep_that_is_no_table_of_settings_is_refused(tmp_path, text, says):
    file = tmp_path / "wrong.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=says):
        read_sweep(file)


def test_finished_cells_of_other_settings_are_refused_by_the_key(tmp_path):
    run_sweep(plan(tmp_path, "one"), device="cpu")
    assert not pending(plan(tmp_path, "one"))
    for workers in (0, 1):
        with pytest.raises(ConfigError, match=r"network\.hidden 8 -> 9; give another folder"):
            run_sweep(plan(tmp_path, "one", hidden=9, workers=workers), device="cpu")


@pytest.mark.parametrize(
    ("name", "writes"),
    [("write_manifest", 0), ("write_manifest", 2), ("save_resume", 1), ("save_checkpoint", 4)],
)
def test_a_kill_while_it_is_split_trains_nothing_again(tmp_path, monkeypatch, name, writes):
    whole, sweep = plan(tmp_path, "whole"), plan(tmp_path, "killed")
    run_sweep(whole, device="cpu")
    with (
        ends_at_a_write(monkeypatch, name, after=writes, error=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        run_sweep(sweep, device="cpu")
    steps = []
    run_sweep(sweep, device="cpu", progress=lambda moment: steps.append(moment.step))
    assert not steps
    assert not list(sweep.out.glob(".ensemble*"))
    for cell in sweep.cells:
        assert_same_folder(sweep.out / cell.name, whole.out / cell.name)


def test_an_added_seed_restarts_nothing(tmp_path):
    per_epoch = 30
    with pytest.raises(KeyboardInterrupt):
        run_sweep(plan(tmp_path, "a", epochs=4), device="cpu", progress=stop_after(2 * per_epoch))
    reached = RunFolder(next((tmp_path / "a").glob(".ensemble*"))).resume_step()
    assert reached > 0
    trained = []
    more = plan(tmp_path, "a", seeds=(0, 1, 2, 3), epochs=4)
    run_sweep(more, device="cpu", progress=lambda m: trained.append((m.name, m.step)))
    together = [step for name, step in trained if name.startswith(".ensemble")]
    assert min(together) > reached
    whole = plan(tmp_path, "b", epochs=4)
    run_sweep(whole, device="cpu")
    for cell in whole.cells:
        assert_same_folder(more.out / cell.name, whole.out / cell.name)


def test_a_removed_seed_does_not_hold_the_others_up(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run_sweep(plan(tmp_path, "a"), device="cpu", progress=stop_after(1))
    fewer = plan(tmp_path, "a", seeds=(0, 2))
    run_sweep(fewer, device="cpu")
    assert not pending(fewer)
    assert RunFolder(fewer.out / "length=2-seed=1").manifest()["status"] == "interrupted"


def test_the_error_of_a_second_process_names_the_first(tmp_path, monkeypatch):
    monkeypatch.setattr(sweep_folders, "WAIT_SECONDS", 0.2)
    sweep = plan(tmp_path, "a")
    sweep.out.mkdir()
    with locked(sweep.out), pytest.raises(FolderHeldError, match=rf"by process {os.getpid()} on "):
        run_sweep(sweep, device="cpu")
    (sweep.out / sweep.cells[1].name).mkdir()
    with (
        locked(sweep.out / sweep.cells[1].name),
        pytest.raises(FolderHeldError, match="length=2-seed=1"),
    ):
        run_sweep(sweep, device="cpu")


def test_a_copy_of_an_ensemble_stays(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run_sweep(plan(tmp_path, "a"), device="cpu", progress=stop_after(1))
    (folder,) = (tmp_path / "a").glob(".ensemble*")
    copy = shutil.copytree(folder, folder.with_name(f"{folder.name}.copy"))
    there = sorted(file.name for file in copy.iterdir())
    run_sweep(plan(tmp_path, "a"), device="cpu")
    assert sorted(file.name for file in copy.iterdir()) == there
    assert not folder.exists()


def test_a_damaged_ensemble_is_not_thrown_away(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run_sweep(plan(tmp_path, "a"), device="cpu", progress=stop_after(1))
    (folder,) = (tmp_path / "a").glob(".ensemble*")
    cells = (folder / ensembles.CELLS).read_text()
    (folder / ensembles.CELLS).write_text("[]")
    with pytest.raises(FileError, match="does not list this ensemble's cells"):
        run_sweep(plan(tmp_path, "a"), device="cpu")
    (folder / "resume.safetensors").write_bytes(b"cut")
    (folder / ensembles.CELLS).write_text(cells)
    with pytest.raises(FileError, match=r"resume\.safetensors .*damaged"):
        run_sweep(plan(tmp_path, "a"), device="cpu")


def test_a_killed_worker_is_reported_by_its_cell_and_the_rest_is_run(tmp_path):
    sweep = plan(tmp_path, "apart", workers=1)
    first, second, third = sweep.cells
    second = replace(second, settings={**second.settings, "recipe.epochs": 40})  # seconds
    sweep = replace(sweep, cells=(first, second, third))
    victim, lines = sweep.out / second.name, []

    def kill():
        while True:
            with contextlib.suppress(FileNotFoundError, ValueError):  # not there yet, or not whole
                os.kill(json.loads((victim / LOCK).read_text())["process"], signal.SIGKILL)
                return
            time.sleep(0.005)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    others = r"1 of 3 cells did not finish, the others did: length=2-seed=1: its process was k"
    with pytest.raises(EspalierError, match=others):
        run_sweep(sweep, device="cpu", progress=lambda m: lines.append(m.cell))
    killer.join()
    assert [cell.name for cell in pending(sweep)] == ["length=2-seed=1"]
    assert any(line.startswith("length=2-seed=2, ") for line in lines)
    run_sweep(sweep, device="cpu")
    assert not pending(sweep)


def test_where_no_cell_finished_no_others_are_spoken_of(tmp_path, monkeypatch):
    sweep = plan(tmp_path, "none", workers=1, seeds=(0, 1))
    none = lambda work, jobs, workers: ((job, f"{job.name}: no") for job in jobs)  # noqa: E731
    monkeypatch.setattr(running, "run_jobs", none)
    told = r"2 of 2 cells did not finish: length=2-seed=0: no; length=2-seed=1: no\. The same"
    with pytest.raises(EspalierError, match=told):
        run_sweep(sweep, device="cpu")


def test_what_progress_refuses_ends_what_is_watched(tmp_path, monkeypatch):
    monkeypatch.setattr(watching, "EVERY", 0.01)
    sweep = plan(tmp_path, "refused", seeds=(0,))

    def refuse(moment):
        raise ConfigError(f"{moment.cell}: too long")

    def work_for_ever():
        with watching.watched(sweep.out, sweep.cells, refuse):
            folder = RunFolder.create(sweep.out / sweep.cells[0].name)
            folder.write_rows([{"step": 29, "epoch": 1.0, "train_loss": 3.0}])
            while True:
                time.sleep(0.01)

    with pytest.raises(ConfigError, match="seed=0, 0 of 1: too long"):
        work_for_ever()


def test_what_progress_refuses_is_raised_at_the_end_where_ctrl_c_is_ignored(tmp_path, monkeypatch):
    monkeypatch.setattr(watching, "EVERY", 0.01)
    sweep, told = plan(tmp_path, "refused", seeds=(0,)), threading.Event()

    def refuse(moment):
        told.set()
        raise ConfigError(f"{moment.cell}: too long")

    def work():
        with watching.watched(sweep.out, sweep.cells, refuse):
            folder = RunFolder.create(sweep.out / sweep.cells[0].name)
            folder.write_rows([{"step": 29, "epoch": 1.0, "train_loss": 3.0}])
            assert told.wait(60)

    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with pytest.raises(ConfigError, match="seed=0, 0 of 1: too long"):
            work()
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_cell_whose_beginning_was_not_seen_has_no_pace(tmp_path):
    sweep = plan(tmp_path, "unseen", seeds=(0,))
    folder = RunFolder.create(sweep.out / sweep.cells[0].name)
    seen = watching._Cell(folder, sweep.cells[0])
    assert seen.moment("") is None
    folder.write_rows([{"step": 29, "epoch": 1.0, "train_loss": 3.0}])
    moment = seen.moment("it")
    assert (moment.step, moment.seconds) == (29, 0.0)
    assert "steps/s" not in describe(moment)


def test_a_text_that_changed_is_reported(tmp_path):
    """Also where only a word did, and where every cell has finished."""
    text, table, out = tmp_path / "text.txt", tmp_path / "table.toml", tmp_path / "out"
    text.write_text("a dog ran in the park\n" * 99)
    sizes = "recipe.epochs = 1\nnetwork.hidden = 4\nrecipe.batch = 4\nrecipe.window = 8\n"
    grid = f"kind = 'text'\nout = '{out}'\ndata = '{text}'\n{sizes}[grid]\nseed = [1, 2]\n"
    table.write_text(grid)
    folders = run_sweep(read_sweep(table), device="cpu")
    assert not pending(read_sweep(table))
    text.write_text("a cow ran in the park\n" * 99)
    with pytest.raises(ConfigError, match="seed=1 was begun on another vocabulary"):
        pending(read_sweep(table))
    with pytest.raises(ConfigError, match="seed=2 was begun on another vocabulary"):
        train(read_sweep(table).cells[1].config(), folders[1], device="cpu")
    text.write_text("a cow ran\n" * 99)
    with pytest.raises(ConfigError, match="was begun on other data"):
        pending(read_sweep(table))
    text.unlink()
    assert not pending(read_sweep(table))  # there is nothing to compare with, nor to train


def test_a_finished_cell_without_its_state_is_not_trained_again(tmp_path):
    folders = run_sweep(plan(tmp_path, "one", epochs=1), device="cpu")
    (folders[0] / "resume.safetensors").unlink()
    assert not pending(plan(tmp_path, "one", epochs=1))
    with pytest.raises(FileError, match=r"is finished, and its resume\.safetensors is missing"):
        run_sweep(plan(tmp_path, "one", epochs=2), device="cpu")


@pytest.mark.parametrize("name", ["epoch-1.safetensors", "metrics.parquet", "resume.safetensors"])
def test_a_cell_does_not_begin_among_files_that_it_could_write_over(tmp_path, name):
    sweep = plan(tmp_path, "a", seeds=(0, 1))
    mine = RunFolder.create(sweep.out / sweep.cells[1].name).path / name
    mine.write_bytes(b"a person's own")
    with pytest.raises(ConfigError, match=rf"seed=1 holds no run, but {name}, of something else"):
        run_sweep(sweep, device="cpu")
    assert mine.read_bytes() == b"a person's own"


def test_cells_whose_manifests_were_lost_are_reported(tmp_path):
    folders = run_sweep(plan(tmp_path, "a", seeds=(0, 1)), device="cpu")
    for folder in folders:
        (folder / "manifest.json").unlink()
    with pytest.raises(ConfigError, match="seed=0 holds no run, but epoch-1"):
        run_sweep(plan(tmp_path, "a", seeds=(0, 1), epochs=3), device="cpu")


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: os.symlink("nowhere", path), os.mkdir])
def test_what_a_user_put_into_a_cells_folder_does_not_hold_up_its_splitting(tmp_path, make):
    """Neither a pipe, which nobody writes to, nor a link to what is not there."""
    sweep = plan(tmp_path, "own", seeds=(0, 1))
    for cell in sweep.cells:
        (sweep.out / cell.name).mkdir(parents=True)
        make(sweep.out / cell.name / "notes")
    run_sweep(sweep, device="cpu")
    for cell in sweep.cells:
        assert RunFolder(sweep.out / cell.name).manifest()["status"] == "finished"
    assert not list(sweep.out.glob(".ensemble*"))
