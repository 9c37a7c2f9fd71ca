"""The surroundings of a command: streams that may be closed or not UTF-8, warnings, signals."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from espalier.errors import EspalierError, harmless

INTERRUPTED = 128 + signal.SIGINT  # the exit status of a command that Ctrl-C ended


def open_streams() -> None:
    """Make stdout and stderr take whatever is written: they may be closed, or no UTF-8.

    What stderr cannot take, as on a full disk, is lost: messages and progress never end the work.
    """
    for name in ("stdout", "stderr"):
        stream: Any = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        elif name == "stdout" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a character that it lacks becomes a ?
        elif stream is sys.__stderr__ and isinstance(stream, io.TextIOWrapper):  # not captured
            sys.stderr = _without_errors(stream)


def _without_errors(stream: io.TextIOWrapper) -> io.TextIOWrapper:
    """A stream that writes to the same place, and loses what cannot be written there."""
    raw: Any = getattr(stream.buffer, "raw", stream.buffer)
    lossy = io.BufferedWriter(_Lossy(raw))
    return io.TextIOWrapper(
        lossy, encoding=stream.encoding, errors=stream.errors, line_buffering=True
    )


class _Lossy(io.RawIOBase):
    """Bytes written elsewhere, or lost."""

    def __init__(self, place: io.RawIOBase) -> None:
        self._place = place

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._place.fileno()

    def isatty(self) -> bool:
        return self._place.isatty()

    def write(self, data: Any, /) -> int:
        """Write what can be written; the rest is lost."""
        with suppress(OSError):
            return self._place.write(data) or len(data)
        return len(data)


@contextmanager
def hearing_ctrl_c() -> Iterator[None]:
    """A block where Ctrl-C always is a KeyboardInterrupt: imports may turn it into any error."""
    heard = threading.Event()
    plain = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not plain or threading.current_thread() is not threading.main_thread():
        yield
        return

    def note(signum: int, frame: Any) -> None:
        heard.set()
        signal.default_int_handler(signum, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    except Exception as error:
        if heard.is_set() and not isinstance(error, EspalierError):
            raise KeyboardInterrupt from error
        raise
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def ended_as_by_ctrl_c() -> Iterator[None]:
    """A block that SIGTERM ends as Ctrl-C does, with exit status 143; the second one kills.

    `kill`, a cluster at a job's time limit and a container that is stopped send it first.
    While a module is imported it kills immediately, since an exception may be lost there, as where
    torch imports numpy.
    """
    plain = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if not plain or threading.current_thread() is not threading.main_thread():
        yield
        return
    received = threading.Event()

    def end(signum: int, frame: Any) -> None:
        received.set()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if _importing(frame):
            signal.raise_signal(signal.SIGTERM)
        hears = signal.getsignal(signal.SIGINT)
        if not callable(hears):  # ignored, as in a shell's background
            raise KeyboardInterrupt
        hears(signal.SIGINT, frame)

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    except SystemExit as ended:
        if received.is_set() and ended.code == INTERRUPTED:
            raise SystemExit(128 + signal.SIGTERM) from None
        raise
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _importing(frame: FrameType | None) -> bool:
    """Whether a module was being imported when the signal came."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


@contextmanager
def warning_in_one_line() -> Iterator[None]:
    """A block whose warnings are written as errors are, without a line of our source."""
    with warnings.catch_warnings():  # which puts back how they are shown

        def show(message: Warning | str, *_: Any, **__: Any) -> None:
            sys.stderr.write(f"espalier: {harmless(str(message))}\n")

        warnings.showwarning = show
        yield
