"""One process at a time works on a run's folder; others are told who does.

The lock is the system's (`flock`) on the file `.lock`, which says who holds it. When a process
dies, however it does, the system lets go: a file left behind is stale, and is taken over with a
warning. A clock that jumps, a process number used again and a folder copied elsewhere do no harm.
A folder that is moved while it is worked on takes its lock along: nothing more is written under its
old name, where another process may have begun.
Where a file system has no locks, a file is stale if its process was one of this host and is gone.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from espalier.errors import FileError
from espalier.files import onto_disk, remove_leftovers

LOCK = ".lock"
_HELD = (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)
_NO_FILE = (errno.EISDIR, errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO)
_AGAIN_SECONDS = 0.2
_patience: ContextVar[float] = ContextVar("patience", default=0.0)
_held: dict[Path, bytes] = {}  # folders that this process works on, and what it wrote in their lock


class FolderHeldError(FileError):
    """Another process works on the folder.

    >>> issubclass(FolderHeldError, FileError)
    True
    """


class FolderLostError(FileError):
    """The folder that this process works on is no longer under its name.

    >>> issubclass(FolderLostError, FileError)
    True
    """


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """A block in which a folder that another works on is waited for, so long, before it is refused.

    >>> with patience(5.0):
    ...     _patience.get()
    5.0
    """
    before = _patience.set(seconds)
    try:
        yield
    finally:
        _patience.reset(before)


@contextmanager
def locked(folder: str | os.PathLike[str]) -> Iterator[None]:
    """A block in which no other process, nor another thread of this one, works on the folder.

    What a killed process left half-written there is removed first.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place, locked(place), locked(place):
    ...     pass
    Traceback (most recent call last):
    espalier.runs.lock.FolderHeldError: ...
    """
    file = Path(folder) / LOCK
    handle = _take(file)
    try:
        with suppress(OSError):  # on a full disk the lock holds all the same, unsigned
            os.ftruncate(handle, 0)
            signed = json.dumps(_oneself()).encode()
            if os.write(handle, signed) == len(signed):
                _held[file.parent] = signed
        remove_leftovers(file.parent)
        yield
    finally:
        _held.pop(file.parent, None)
        # Removed while it is held: who opened it meanwhile finds another file there, or none.
        with suppress(OSError):
            if _is_there(handle, file):
                file.unlink()
        os.close(handle)


def signature_of(folder: Path) -> bytes | None:
    """What this process wrote in the lock of a folder that it works on; None if it does not."""
    return _held.get(folder)


def check_held(folder: Path, signed: bytes | None) -> None:
    """Raise if the lock of a folder no longer says this, which its holder wrote there."""
    if signed is None:
        return
    with suppress(OSError):
        if (folder / LOCK).read_bytes() == signed:
            return
    raise FolderLostError(
        f"{folder} was moved or removed, or its {LOCK} was, while it was worked on: nothing more "
        f"is written there; the same command goes on with the folder, given where it is now"
    )


def _take(file: Path) -> int:
    """The file, open and locked, after a word about whoever left it behind."""
    until = time.monotonic() + _patience.get()
    while True:
        handle = _open(file)
        try:
            ours, signed = _lock(handle), _signature(handle)
            holder = _in_words(signed)
            again = ours is False and time.monotonic() < until
            if ours is False and not again:
                raise FolderHeldError(
                    f"{file.parent} is being worked on by {holder or 'another process'}; wait for "
                    f"it to end, or give another folder"
                )
            if not again and _is_there(handle, file):
                if holder and ours is None and not _is_gone(signed):
                    raise FolderHeldError(
                        f"{file.parent} may be worked on by {holder}: its file system has no locks "
                        f"to tell; once that process has ended, remove {file}"
                    )
                if holder:
                    warnings.warn(
                        f"{file.parent} was left by {holder}, which is gone; going on from there",
                        stacklevel=4,
                    )
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
        if again:
            time.sleep(_AGAIN_SECONDS)


def _open(file: Path) -> int:
    """The file, made if it is not there; where something else is, it is said so."""
    with onto_disk(file):
        try:
            return os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            if error.errno not in _NO_FILE:
                raise
            if not file.parent.exists():
                raise FolderLostError(
                    f"{file.parent} was removed as work on it began; give the same command again"
                ) from error
            raise FileError(
                f"cannot make the lock {file}: {error.strerror}; remove what is there, or give "
                f"another folder"
            ) from error


def _lock(handle: int) -> bool | None:
    """Whether the lock is ours now; None where the system or the disk has none."""
    try:
        import fcntl
    except ImportError:  # pragma: no cover - not on Windows
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in _HELD else None
    return True


def _is_there(handle: int, file: Path) -> bool:
    """Whether the file that is locked still is the one of that name."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle), file.stat())
    return False


def _oneself() -> dict[str, Any]:
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {"process": os.getpid(), "host": socket.gethostname(), "since": since}


def _signature(handle: int) -> dict[str, Any]:
    """Who wrote the file; nothing if it is empty or says nothing."""
    with suppress(OSError, ValueError, TypeError):
        return dict(json.loads(os.pread(handle, 1_000, 0)))
    return {}


def _in_words(signed: dict[str, Any]) -> str:
    with suppress(KeyError):
        return "process {process} on {host} since {since}".format(**signed)
    return ""


def _is_gone(signed: dict[str, Any]) -> bool:
    """Whether whoever signed was a process of this host that has ended."""
    if signed["host"] != socket.gethostname() or type(signed["process"]) is not int:
        return False
    try:
        os.kill(signed["process"], 0)
    except ProcessLookupError:
        return True
    except (OverflowError, OSError):  # no number that a process has, or another user's
        pass
    return False
