"""One process at a time works on a folder, a second one is refused, and no row is lost."""

import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading

import pytest

from espalier.errors import FileError
from espalier.runs import LOCK, FolderHeldError, FolderLostError, Plan, RunFolder, fit, locked
from espalier.runs import lock as lock_module
from runs.test_loop import learner_of

HOLD = """
    import sys
    from espalier.runs import locked
    with locked(sys.argv[1]):
        print("held", flush=True)
        sys.stdin.read()
"""
APPEND = """
    import sys, time
    from espalier.runs import FolderHeldError, RunFolder, locked
    folder = RunFolder.create(sys.argv[1])
    for number in range(10):
        while True:
            try:
                with locked(folder.path):
                    rows = folder.rows()
                    folder.write_rows([*rows, {"by": sys.argv[2], "number": number}])
                break
            except FolderHeldError:
                time.sleep(0.001)
"""


def process(code, *words, **more):
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(code), *words], **more)


def test_another_process_is_refused_with_who_holds_it_and_a_dead_one_is_taken_over(tmp_path):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    holder = process(HOLD, str(tmp_path), text=True, **pipes)
    assert holder.stdout.readline() == "held\n"
    words = rf"is being worked on by process {holder.pid} on .+ since 20.*; wait for it to end"
    with pytest.raises(FolderHeldError, match=words), locked(tmp_path):
        pass
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    gone = rf"left by process {holder.pid} .*, which is gone"
    with pytest.warns(UserWarning, match=gone), locked(tmp_path):
        assert json.loads((tmp_path / LOCK).read_text())["process"] == os.getpid()
    assert not (tmp_path / LOCK).exists()


def test_many_at_once_lose_and_double_no_row(tmp_path):
    others = [process(APPEND, str(tmp_path), str(k)) for k in range(3)]
    assert [one.wait() for one in others] == [0, 0, 0]
    found = [(row["by"], row["number"]) for row in RunFolder(tmp_path).rows()]
    assert sorted(found) == [(str(by), number) for by in range(3) for number in range(10)]
    assert not (tmp_path / LOCK).exists()


def test_another_thread_is_refused_too(tmp_path):
    found = []

    def other():
        try:
            with locked(tmp_path):
                pass
        except FolderHeldError as error:
            found.append(str(error))

    with locked(tmp_path):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert f"process {os.getpid()}" in found[0]


@pytest.mark.parametrize("text", [b"", b"\xff\xfe", b"[]", b'{"process": 3}', b'{"process'])
def test_whatever_a_file_says_that_was_left_behind(tmp_path, text):
    (tmp_path / LOCK).write_bytes(text)
    with locked(tmp_path):
        pass
    assert not (tmp_path / LOCK).exists()


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda file: file.mkdir(), "Is a directory"),
        (lambda file: file.symlink_to("none/there"), "No such file"),
        (lambda file: file.symlink_to(file.name), "Too many levels"),
    ],
)
def test_what_is_no_file_in_place_of_the_lock_is_told(tmp_path, make, why):
    make(tmp_path / LOCK)
    words = rf"cannot make the lock .*\.lock: {why}.*; remove what is there"
    with pytest.raises(FileError, match=words), locked(tmp_path):
        pass


def test_a_clock_that_jumps_back_changes_nothing(tmp_path, monkeypatch):
    with locked(tmp_path):
        monkeypatch.setattr(lock_module.time, "gmtime", lambda: (1970, 1, 1, 0, 0, 0, 3, 1, 0))
        with pytest.raises(FolderHeldError), locked(tmp_path):
            pass


def test_a_folder_that_cannot_be_written_is_told_so(tmp_path, monkeypatch):
    def refused(*given):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(lock_module.os, "open", refused)
    words = r"Read-only file system; .*choose a place that can be"
    with pytest.raises(FileError, match=words), locked(tmp_path):
        pass


def test_where_the_file_system_has_no_locks_work_goes_on(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def refused(*given):
        raise OSError(errno.EOPNOTSUPP, "not supported")

    monkeypatch.setattr(fcntl, "flock", refused)
    with locked(tmp_path):
        pass


def test_where_there_are_no_locks_only_a_process_of_this_host_that_ended_is_gone(
    tmp_path, monkeypatch
):
    fcntl = pytest.importorskip("fcntl")

    def refused(*given):
        raise OSError(errno.ENOLCK, "no locks available")

    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    monkeypatch.setattr(fcntl, "flock", refused)
    here = {"host": lock_module.socket.gethostname(), "since": "2026-01-01T00:00:00Z"}
    for signed in ({"process": 1, "host": "elsewhere"}, {"process": os.getpid()}):
        (tmp_path / LOCK).write_text(json.dumps(here | signed))
        with pytest.raises(FolderHeldError, match=r"no locks to check; .* remove .*\.lock"):
            locked(tmp_path).__enter__()
        assert (tmp_path / LOCK).exists()
    (tmp_path / LOCK).write_text(json.dumps(here | {"process": ended.pid}))
    with pytest.warns(UserWarning, match="which is gone"), locked(tmp_path):
        pass


def test_nothing_is_written_where_a_folder_was_moved_from(tmp_path):
    """Another process may have begun there."""
    folder, moved = RunFolder.create(tmp_path / "run"), RunFolder(tmp_path / "moved")
    about = {"kind": "k", "status": "running"}
    writes = (
        lambda: folder.append_rows([{"step": 2}]),
        lambda: folder.write_rows([{"step": 2}]),
        lambda: folder.write_manifest(about | {"status": "failed"}),
        lambda: folder.save_resume({}, 2),
        folder.tidy,
    )
    with locked(folder.path):
        folder.append_rows([{"step": 1}])
        folder.path.rename(moved.path)
        for write in writes:
            with pytest.raises(FolderLostError, match="run was moved or removed"):
                write()
        RunFolder.create(folder.path)
        (folder.path / LOCK).write_text(json.dumps({"process": 1, "host": "h", "since": "now"}))
        for write in writes:
            with pytest.raises(FolderLostError, match="run was moved or removed"):
                write()
    assert [file.name for file in folder.path.iterdir()] == [LOCK]  # the other's
    with pytest.warns(UserWarning, match="which is gone"), locked(moved.path):
        assert moved.rows() == [{"step": 1}]


def test_a_run_that_is_moved_stops_and_goes_on_where_it_is_now(tmp_path):
    out, moved = tmp_path / "run", RunFolder(tmp_path / "moved")
    whole = fit(learner_of("alone"), Plan(3))

    def move(moment):
        if moment.rows and moment.step == 8:
            out.rename(moved.path)
            out.mkdir()
            (out / "metrics.jsonl").write_text('{"step": 1}\n')

    with pytest.raises(FolderLostError), locked(RunFolder.create(out).path):
        fit(learner_of("alone"), Plan(3), folder=RunFolder(out), progress=move)
    assert RunFolder(out).rows() == [{"step": 1}]
    assert fit(learner_of("alone"), Plan(3), folder=moved) == whole == moved.rows()
