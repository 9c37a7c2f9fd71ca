"""A run's tables on the disk: two files of one table, parts of another, rows that went missing."""

import os
import shutil
import signal
import threading
import warnings

import pytest

from espalier.errors import FileError
from espalier.runs import (
    RESUME,
    Interrupted,
    Job,
    Plan,
    RunFolder,
    describe_run,
    fill_table,
    fit,
    list_runs,
    recorded,
)
from runs.test_loop import CPU, learner_of

pytest.importorskip("pyarrow")

ROWS = [{"step": n, "epoch": float(n), "loss": 1 / n} for n in range(1, 5)]
LINES = '{{"step": {0}, "epoch": {0}.0, "loss": {1}}}\n'


@pytest.fixture
def run(tmp_path):
    """A finished run of four measures."""
    folder = RunFolder.create(tmp_path / "run")
    with recorded(folder, describe_run("example", {}, data={}, device=CPU)):
        folder.write_rows(ROWS)
    assert (folder.path / "metrics.parquet").exists()
    return folder


@pytest.mark.parametrize("lines", [0, 1, 3, 4])
def test_old_lines_next_to_a_longer_table_are_not_the_table(run, lines):
    old = "".join(LINES.format(row["step"], row["loss"]) for row in ROWS[:lines])
    (run.path / "metrics.jsonl").write_text(old)
    assert run.rows() == ROWS
    assert [one.trouble for one in list_runs(run.path.parent)] == [""]
    assert run.rows() == ROWS


def test_lines_that_begin_with_the_table_are_the_table(run):
    more = [*ROWS, {"step": 5, "epoch": 5.0, "loss": 0.2}]
    (run.path / "metrics.jsonl").write_text(
        "".join(LINES.format(row["step"], row["loss"]) for row in more)
    )
    assert run.rows() == more
    run.tidy()
    assert run.rows() == more


def test_two_files_that_differ_are_refused_and_stay(run):
    before = (run.path / "metrics.parquet").read_bytes()
    (run.path / "metrics.jsonl").write_text(LINES.format(1, 7.5))
    for read in (run.rows, run.tidy):
        with pytest.raises(FileError, match=r"metrics\.jsonl and metrics\.parquet differ"):
            read()
    (listed,) = list_runs(run.path.parent)
    assert listed.status == "damaged"
    assert (run.path / "metrics.parquet").read_bytes() == before


def squares(first):
    return [{"square": (first + n) ** 2} for n in range(3)]


def table(place, seed):
    """A table in parts, in a run of its own."""
    folder = RunFolder.create(place)
    about = describe_run("example", {"seed": seed}, data={}, device=CPU, tables=("rows",))
    jobs = [Job(str(n), (n,)) for n in (1, 2)]
    with recorded(folder, about):
        return list(fill_table(place / "rows", squares, jobs, columns={"square": "int64"}))


def test_a_part_of_another_table_is_refused(tmp_path):
    for seed in (0, 1):
        table(tmp_path / str(seed), seed)
    shutil.copy(tmp_path / "1" / "rows" / "part-1.parquet", tmp_path / "0" / "rows")
    with pytest.raises(FileError, match=r"part-1\.parquet is another run's"):
        table(tmp_path / "0", 0)
    (tmp_path / "0" / "rows" / "part-1.parquet").unlink()
    assert [part.rows for part in table(tmp_path / "0", 0)] == [3, 3]


def test_measures_under_a_parts_name_are_refused(tmp_path, run):
    table(tmp_path / "0", 0)
    shutil.copy(run.path / "metrics.parquet", tmp_path / "0" / "rows" / "part-1.parquet")
    with pytest.raises(FileError, match=r"part-1\.parquet is another run's"):
        table(tmp_path / "0", 0)


def test_a_part_under_the_name_of_another_is_refused(tmp_path):
    table(tmp_path, 0)
    shutil.copy(tmp_path / "rows" / "part-1.parquet", tmp_path / "rows" / "part-2.parquet")
    with pytest.raises(FileError, match=r"part-2\.parquet is the part 1 of this table, not 2"):
        table(tmp_path, 0)


def test_a_pipe_in_the_place_of_a_part_is_refused(tmp_path):
    table(tmp_path, 0)
    (tmp_path / "rows" / "part-2.parquet").unlink()
    os.mkfifo(tmp_path / "rows" / "part-2.parquet")
    with pytest.raises(FileError, match=r"part-2\.parquet is a pipe"):
        table(tmp_path, 0)


def stop_after_two_epochs(folder):
    """Interrupt a run of four epochs after the second measure, with its lines on the disk."""

    def stop(moment):
        if moment.step >= 17:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted):
        fit(learner_of("alone"), Plan(4, slice_seconds=1e-9), folder=folder, progress=stop)
    assert len(folder.rows()) == 2


@pytest.mark.parametrize("left", [None, 0, 1])
def test_lost_rows_are_reported_when_a_run_is_resumed(tmp_path, left):
    folder = RunFolder.create(tmp_path)
    stop_after_two_epochs(folder)
    lines = tmp_path / "metrics.jsonl"
    kept = lines.read_text().splitlines(keepends=True)
    lines.unlink() if left is None else lines.write_text("".join(kept[1 : 1 + left]))
    with pytest.warns(UserWarning, match=rf"lacks rows of metrics .* before its {RESUME}: of step"):
        fit(learner_of("alone"), Plan(4), folder=folder)


def removed(lines):
    lines.unlink()


def emptied(lines):
    lines.write_text("")


def doubled(lines):
    lines.write_text(lines.read_text() * 2)


def edited(lines):
    lines.write_text(lines.read_text().replace('"step": ', '"step": 1'))


@pytest.mark.parametrize("change", [removed, emptied, doubled, edited])
def test_rows_that_are_changed_during_a_run_are_written_again(tmp_path, change):
    whole, folder = RunFolder.create(tmp_path / "whole"), RunFolder.create(tmp_path / "run")
    wanted = fit(learner_of("alone"), Plan(3), folder=whole)
    lines = folder.path / "metrics.jsonl"

    def disturb(place):
        if place["epoch"] == 2:
            change(lines)

    with pytest.warns(UserWarning, match="were changed while the run was in progress"):
        fit(learner_of("alone"), Plan(3), folder=folder, also=disturb)
    assert folder.rows() == wanted == whole.rows()


def test_an_undisturbed_run_warns_of_nothing(tmp_path):
    folder = RunFolder.create(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(learner_of("alone"), Plan(2), folder=folder)
        fit(learner_of("alone"), Plan(3), folder=folder)
    assert [row["epoch"] for row in folder.rows()] == [1, 2, 3]


def test_a_run_is_read_while_one_of_its_files_replaces_the_other(run):
    """Lines and Parquet come and go as a run is resumed and ends."""
    stop, wrong = threading.Event(), []

    def read():
        while not stop.is_set():
            try:
                assert run.rows() == ROWS
            except Exception as error:
                wrong.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(150):
        run.write_rows(ROWS)
        run.tidy()
    stop.set()
    reader.join()
    assert wrong == []


def test_lines_next_to_parquet_are_read_without_pyarrow(run, monkeypatch):
    (run.path / "metrics.jsonl").write_text(
        "".join(LINES.format(row["step"], row["loss"]) for row in ROWS)
    )
    monkeypatch.setattr("espalier.runs.folder.find_spec", lambda name: None)
    assert run.rows() == ROWS


def test_a_table_next_to_a_manifest_of_something_else(tmp_path):
    (tmp_path / "manifest.json").write_text('{"name": "a web page"}')
    jobs = [Job("1", (1,))]
    parts = fill_table(tmp_path / "rows", squares, jobs, columns={"square": "int64"})
    assert [part.rows for part in parts] == [3]
