"""`espalier scan` as a user runs it: in a process of its own, stopped and given again."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from espalier.cli import app
from espalier.data import scan
from espalier.data.sources import SOURCES
from espalier.errors import ConfigError, DataError

COUNT = 700  # more than one chunk


@pytest.fixture
def data(tmp_path):
    """A folder with few examples in each of SCAN's files, of those with the shortest answers."""
    chosen = sorted(scan.generate_examples(), key=lambda e: e.actions.count(" "))[:COUNT]
    random.Random(0).shuffle(chosen)
    for name in SOURCES["scan"].files:
        file = tmp_path / "data" / "scan" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        some = chosen if name == "tasks.txt" else chosen[:60] if "train" in name else chosen[60:90]
        file.write_text("".join(f"IN: {e.command} OUT: {e.actions}\n" for e in some))
    return tmp_path / "data"


def start(tmp_path, data, *flags: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "espalier.cli", "scan", "--data", str(data), *flags],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def scan_here(tmp_path, data, monkeypatch, *flags: str) -> None:
    """The same in this process, which has imported everything."""
    monkeypatch.chdir(tmp_path)
    app(["scan", "--data", str(data), *flags], exit_on_error=False, result_action="return_value")


@pytest.mark.filterwarnings("ignore:.*was left by process")  # of the one that was killed
@pytest.mark.parametrize("kill", [signal.SIGINT, signal.SIGKILL])
def test_it_goes_on_after_a_stop_with_other_workers(
    tmp_path, data, kill, monkeypatch, capsys
) -> None:
    rows = tmp_path / "runs" / "scan-all-interpreter" / "cases"
    first = start(tmp_path, data, "--workers", "2")
    while first.poll() is None and not list(rows.glob("part-*")):
        time.sleep(0.05)
    with contextlib.suppress(ProcessLookupError):  # it may have ended
        os.killpg(first.pid, kill)
    _, errors = first.communicate(timeout=600)
    stopped_amid = first.returncode == 130 and len(list(rows.glob("part-*"))) < 2
    if kill == signal.SIGINT and stopped_amid:
        assert errors.strip().endswith("the same command resumes from there")
        assert "Traceback" not in errors
    scan_here(tmp_path, data, monkeypatch, "--workers", "1")
    assert f"100.00% of {COUNT:,}" in capsys.readouterr().out


def test_a_minimal_version_is_judged_by_the_test_set(tmp_path, data, monkeypatch, capsys) -> None:
    split = ["--split", "mcd1", "--minimal"]
    scan_here(tmp_path, data, monkeypatch, *split, "--workers", "1")
    assert "of 30" in capsys.readouterr().out
    assert (tmp_path / "runs" / "scan-mcd1-minimal-interpreter" / "cases").is_dir()
    with pytest.raises(DataError, match="has no training set"):
        scan_here(tmp_path, data, monkeypatch, "--split", "all", "--minimal")
    with pytest.raises(ConfigError, match="dask"):
        scan_here(tmp_path, data, monkeypatch, *split, "--out", "none", "--cluster", "nowhere")
    assert not (tmp_path / "none").exists()  # it is the minimal version that asked
