"""Work in a forked process: killed at a moment, on a small disk, as another user, in a time.

What is slow to import is imported once, before forking. The parent computes nothing itself: threads
of a library that it had begun would be missing in its children.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Ended:
    """How a child ended: its status (minus a signal's number), what it wrote, its seconds."""

    status: int
    text: str
    seconds: float

    @property
    def raw(self) -> bool:
        """Whether an error that is not our own came through."""
        return "Traceback (most recent call last)" in self.text or self.status not in (0, 2, -9)


@dataclass
class Limits:
    """The limits on a child."""

    kill_after: float | None = None  # seconds
    kill_at: int | None = None  # of the files that it opens, renames or removes
    file_bytes: int | None = None
    memory: int | None = None
    seconds: float = 300.0
    unprivileged: bool = False


@dataclass
class Child:
    """A process at work; its output goes to a file."""

    pid: int
    output: Path
    began: float

    def ended(self) -> Ended | None:
        """How it ended, if it has."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if not pid:
            return None
        seconds = time.monotonic() - self.began
        text = self.output.read_text(encoding="utf-8", errors="replace")
        self.output.unlink()
        return Ended(os.waitstatus_to_exitcode(status), text, seconds)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)


def start(work: Callable[[], object], limits: Limits | None = None) -> Child:
    """A child that does the work; SystemExit is its status, another error 1 and a traceback."""
    handle, name = tempfile.mkstemp(prefix="child-")
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        os.close(handle)
        return Child(pid, Path(name), time.monotonic())
    status = 1
    try:
        for stream in (1, 2):
            os.dup2(handle, stream)
        sys.stdout = os.fdopen(1, "w", closefd=False)
        sys.stderr = os.fdopen(2, "w", closefd=False)
        _live_with(limits or Limits())
        work()
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:  # where a full disk takes no more, a child would continue as its parent
            os._exit(status)


def run(work: Callable[[], object], limits: Limits | None = None) -> Ended:
    """How the work ended in a child, killed when its time is over."""
    limits = limits or Limits()
    child = start(work, limits)
    last = child.began + (limits.seconds if limits.kill_after is None else limits.kill_after)
    while (ended := child.ended()) is None:
        if time.monotonic() >= last:
            child.kill()
            last = float("inf")
        time.sleep(0.0005)
    return ended


def _live_with(limits: Limits) -> None:
    if limits.file_bytes is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file_bytes, limits.file_bytes))
    if limits.memory is not None:
        resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory))
    if limits.unprivileged and os.getuid() == 0:
        _obey_permissions()
    if limits.kill_at is not None:
        sys.addaudithook(_killer(limits.kill_at))


def _obey_permissions() -> None:
    """Let the superuser be refused what a file's permissions refuse (capset, without 1 and 2)."""
    library = ctypes.CDLL(None, use_errno=True)
    header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    if library.capget(header, data):
        raise OSError(ctypes.get_errno(), "capget")
    data[0] &= ~0b110  # the first of the effective ones: overriding permissions
    if library.capset(header, data):
        raise OSError(ctypes.get_errno(), "capset")


def _killer(at: int) -> Callable[[str, object], None]:
    count = 0

    def hear(event: str, given: object) -> None:
        nonlocal count
        if event in ("os.rename", "os.remove", "os.truncate", "tempfile.mkstemp"):
            count += 1
            if count == at:
                os.kill(os.getpid(), signal.SIGKILL)

    return hear


def count_moments(work: Callable[[], object]) -> Ended:
    """As `run`, with the number of files touched as the last line of the text."""

    def counted() -> None:
        touched = 0

        def hear(event: str, given: object) -> None:
            nonlocal touched
            touched += event in ("os.rename", "os.remove", "os.truncate", "tempfile.mkstemp")

        sys.addaudithook(hear)
        try:
            work()
        finally:
            print(f"\n{touched}")

    return run(counted)
