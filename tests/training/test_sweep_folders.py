"""Cells whose run is there already under another name, behind a broken link, or still in use."""

import contextlib
import json
import signal
import subprocess
import sys
import threading
import time

import pytest

from espalier.errors import ConfigError, FileError
from espalier.runs import LOCK, RunFolder, locked
from espalier.training import read_sweep, run_sweep
from espalier.training.sweep import folders, make_cells, pending

TOML = """
out = "{out}"
{base}
corpus.tokens = 1500
corpus.vocabulary = 20
corpus.rules = 50
corpus.scaffolds = 10
corpus.copies = 20
corpus.tests = 20
network.hidden = 8
recipe.epochs = {epochs}
recipe.batch = 5
recipe.window = 10
[grid]
{grid}
"""


def plan(tmp_path, grid, *, base="", out="out", epochs=1):
    file = tmp_path / "sweep.toml"
    place = (tmp_path / out).as_posix()
    file.write_text(TOML.format(out=place, base=base, epochs=epochs, grid=grid))
    return read_sweep(file)


FIRST = "corpus.length = [2]\ncorpus.seed = [0, 1]"
ORDER = ("corpus.seed = [0, 1]\ncorpus.length = [2]", "")
MOVED = ("corpus.seed = [0, 1]", "corpus.length = 2")


@pytest.mark.parametrize(
    "values",
    [
        ["epoch", "epoch:1"],
        ["step:1,2", "step:2,1"],
        ["epoch+log", "log + epoch"],
        ["step:1+step:2", "step:1,2,2"],
        ["epochs:1,3", "epochs:3,1"],
    ],
)
def test_one_schedule_in_two_spellings_is_asked_for_twice(values):
    for kind in ("scaffold", "text"):
        with pytest.raises(ConfigError, match="is asked for twice"):
            make_cells(kind, {}, {"keep": values})


def test_other_schedules_are_other_runs():
    values = ["epoch", "epoch:2", "log", "log:4", "step:1,2", "epochs:1,2", "epoch+log"]
    assert len(make_cells("scaffold", {}, {"keep": values})) == len(values)


@pytest.mark.parametrize(("grid", "base"), [ORDER, MOVED])
def test_a_run_under_another_name_is_named_before_it_is_trained_again(tmp_path, grid, base):
    before = sorted(run_sweep(plan(tmp_path, FIRST), device="cpu"))
    assert [folder.name for folder in before] == ["length=2-seed=0", "length=2-seed=1"]
    moved = plan(tmp_path, grid, base=base)
    other = moved.cells[0].name
    told = (
        rf"out/length=2-seed=0 holds a run with the settings of cell '{other}', .* again in "
        rf".*out/{other} \(1 other cells are .*; to use that run, stop this and rename"
    )
    with pytest.warns(UserWarning, match=told):
        assert len(pending(moved)) == 2
    assert sorted(path for path in moved.out.iterdir() if path.is_dir()) == before
    for old, cell in zip(before, moved.cells, strict=True):
        old.rename(moved.out / cell.name)
    assert pending(moved) == []


def test_a_folder_that_may_not_be_read_is_no_hindrance(tmp_path, monkeypatch):
    """As root may read every folder, the refusal is played."""
    sweep, read = plan(tmp_path, FIRST), RunFolder.manifest
    (sweep.out / "lost+found").mkdir(parents=True)

    def refused(folder):
        if folder.path.name == "lost+found":
            raise PermissionError(13, "Permission denied", str(folder.path))
        return read(folder)

    monkeypatch.setattr(RunFolder, "manifest", refused)
    assert len(pending(sweep)) == 2


def test_other_runs_and_copies_in_the_folder_are_no_hindrance(tmp_path):
    """A copy of a cell that is there itself, another run, and one whose manifest is damaged."""
    sweep = plan(tmp_path, FIRST)
    for folder in run_sweep(sweep, device="cpu"):
        manifest = folder / "manifest.json"
        manifest.write_text(manifest.read_text().replace('"finished"', '"interrupted"'))
        copy = RunFolder.create(folder.with_name(f"{folder.name} copy")).path
        (copy / "manifest.json").write_text(manifest.read_text())
    damaged = RunFolder.create(sweep.out / "damaged").path
    (damaged / "manifest.json").write_text("{")
    assert len(pending(sweep)) == 2
    assert len(pending(plan(tmp_path, "corpus.seed = [2, 3]", base="corpus.length = 2"))) == 2


@pytest.mark.parametrize("workers", [0, 2])
def test_a_link_to_nothing_is_refused(tmp_path, workers):
    sweep = plan(tmp_path, FIRST)
    sweep.out.mkdir()
    (sweep.out / sweep.cells[1].name).symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileError, match=r"seed=1 is a link to .*nowhere, which is not there"):
        run_sweep(sweep, device="cpu", workers=workers)
    assert not (tmp_path / "nowhere").exists()
    (tmp_path / "nowhere").mkdir()
    run_sweep(sweep, device="cpu", workers=workers)
    assert (tmp_path / "nowhere" / "manifest.json").exists()


def test_a_cell_in_use_is_waited_for(tmp_path):
    sweep = plan(tmp_path, FIRST)
    folder = RunFolder.create(sweep.out / sweep.cells[1].name)
    taken, slow = threading.Event(), 0.6

    def hold():
        with locked(folder.path):
            taken.set()
            time.sleep(slow)

    holder = threading.Thread(target=hold)
    holder.start()
    assert taken.wait(60)
    run_sweep(sweep, device="cpu")
    holder.join()
    assert not pending(sweep)


@pytest.mark.filterwarnings("ignore:.* was left by process")
def test_the_same_command_goes_on_where_its_parent_was_killed(tmp_path):
    """Its workers end within a second, and until then they hold their cells."""
    sweep = plan(tmp_path, "corpus.seed = [0, 1]", base="corpus.length = 2", epochs=300)
    command = [sys.executable, "-m", "espalier", "sweep", str(tmp_path / "sweep.toml")]
    parent = subprocess.Popen([*command, "--workers", "2"], stderr=subprocess.DEVNULL)
    locks = [sweep.out / cell.name / LOCK for cell in sweep.cells]
    for lock in locks:
        while True:
            with contextlib.suppress(FileNotFoundError, ValueError):  # not there yet, or not whole
                assert json.loads(lock.read_text())["process"] != parent.pid
                break
            assert parent.poll() is None
            time.sleep(0.01)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    folders.wait_for_workers(sweep, sweep.cells)
    assert not any(lock.exists() for lock in locks)
