"""A large function is written once and read once by each process; nothing else is read for it."""

import os
import pickle
import signal
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest

from espalier.errors import FileError
from espalier.runs import Job, LostWorkersError, Workers, fill_table, function_files
from espalier.runs.function_files import FILE, LARGE, sent_once


@dataclass(frozen=True)
class Adder:
    """A function with a megabyte or more; it says how large the folder's file was meanwhile."""

    weights: np.ndarray
    folder: str

    def __call__(self, number, mark=""):
        if mark and os.path.exists(mark):
            os.unlink(mark)
            os.kill(os.getpid(), signal.SIGKILL)
        if number < 0:
            raise KeyboardInterrupt
        file = Path(self.folder, FILE)
        size = file.stat().st_size if file.exists() else 0
        return [{"sum": float(self.weights.sum()) + number, "size": size}]


def adder(folder, size):
    return Adder(np.ones(size, dtype=np.uint8), str(folder))


COLUMNS = {"sum": "double", "size": "int64"}


def rows_of(folder):
    return parquet.read_table(folder).to_pylist()


def test_a_large_function_is_read_from_a_file_that_goes(tmp_path):
    large, mark = adder(tmp_path / "rows", LARGE), tmp_path / "mark"
    mark.touch()
    jobs = [Job(str(n), (n, str(mark) if n == 1 else "")) for n in range(3)]
    with pytest.raises(LostWorkersError):
        list(fill_table(tmp_path / "rows", large, jobs, Workers(1), columns=COLUMNS))
    assert len(rows_of(tmp_path / "rows")) == 2
    list(fill_table(tmp_path / "rows", large, jobs, Workers(1), columns=COLUMNS))
    assert [row["sum"] for row in rows_of(tmp_path / "rows")] == [LARGE + n for n in range(3)]
    assert all(row["size"] >= LARGE for row in rows_of(tmp_path / "rows"))
    assert len(list((tmp_path / "rows").iterdir())) == 3


def test_what_travels_with_a_job_is_small(tmp_path):
    with sent_once(adder(tmp_path, LARGE), tmp_path) as sent:
        assert len(pickle.dumps(sent)) < 1_000
        assert sent(3) == [{"sum": LARGE + 3.0, "size": (tmp_path / FILE).stat().st_size}]
        (first,) = function_files._read.values()
        with pytest.raises(KeyboardInterrupt):
            sent(-1)
        assert first not in function_files._read.values()
    small = adder(tmp_path, 9)
    with sent_once(small, tmp_path) as sent:
        assert sent is small
    assert not list(tmp_path.iterdir())


def test_a_file_that_was_changed_is_not_read(tmp_path):
    """It could run code."""
    with sent_once(adder(tmp_path, LARGE + 1), tmp_path) as sent:
        (tmp_path / FILE).write_bytes(pickle.dumps(print))
        with pytest.raises(FileError, match="is not what was written there"):
            sent(1)
        (tmp_path / FILE).unlink()
        with pytest.raises(FileError, match="cannot read"):
            sent(1)


def test_what_a_kill_left_is_removed(tmp_path):
    (tmp_path / FILE).touch()
    (tmp_path / f".{FILE}.abcd1234.unfinished").touch()
    list(fill_table(tmp_path, adder(tmp_path, 9), [Job("0", (1,))], columns=COLUMNS))
    assert [file.name for file in tmp_path.iterdir()] == ["part-0.parquet"]
