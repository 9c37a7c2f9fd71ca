"""One process at a time works on a run's folder; an error names it to the others.

The lock is the system's (`flock`) on the file `.lock`, which names its holder. However a process
ends, the system releases its lock: a file left behind is stale, and is taken over with a warning.
Clock changes, reused process numbers and copied folders do no harm.
A folder that is moved while in use takes its lock along: nothing more is written under its old
name, where another process may have started.
Where a file system has no locks, a file is stale if its process was one of this host and has ended.
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
_held: dict[Path, bytes] = {}  # folders this process works on, with its signature in the lock


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
    """A block in which a folder that another process works on is waited for, up to `seconds`.

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

    Files that a killed process left half-written there are removed first.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place, locked(place), locked(place):
    ...     pass
    Traceback (most recent call last):
    espalier.runs.lock.FolderHeldError: ...
    """
    file = Path(folder) / LOCK
    handle = _take(file)
    try:
        with suppress(OSError):  # on a full disk the lock still holds, unsigned
            os.ftruncate(handle, 0)
            signed = json.dumps(_oneself()).encode()
            if os.write(handle, signed) == len(signed):
                _held[file.parent] = signed
        remove_leftovers(file.parent)
        yield
    finally:
        _held.pop(file.parent, None)
        # Removed while it is held: a process that opened it meanwhile finds another file, or none.
        with suppress(OSError):
            if _is_there(handle, file):
                file.unlink()
        os.close(handle)


def signature_of(folder: Path) -> bytes | None:
    """This process's signature in the lock of a folder; None if it does not work on it."""
    return _held.get(folder)


def check_held(folder: Path, signed: bytes | None) -> None:
    """Raise if the lock of a folder no longer has this signature of its holder."""
    if signed is None:
        return
    with suppress(OSError):
        if (folder / LOCK).read_bytes() == signed:
            return
    raise FolderLostError(
        f"{folder} was moved or removed, or its {LOCK} was, while it was in use: nothing more is "
        f"written there; the same command, given the folder's new name, resumes"
    )


def _take(file: Path) -> int:
    """The file, open and locked; a warning names the process that left it behind, if one did."""
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
                        f"to check; once that process has ended, remove {file}"
                    )
                if holder:
                    warnings.warn(
                        f"{file.parent} was left by {holder}, which is gone; continuing from there",
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
    """The file, made if it does not exist; an error if something else is in its place."""
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
    """Whether the lock is ours now; None where the system or the disk has no locks."""
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
    """Whether the locked file still is the one of that name."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle), file.stat())
    return False


def _oneself() -> dict[str, Any]:
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {"process": os.getpid(), "host": socket.gethostname(), "since": since}


def _signature(handle: int) -> dict[str, Any]:
    """The signature of whoever wrote the file; empty if there is none."""
    with suppress(OSError, ValueError, TypeError):
        return dict(json.loads(os.pread(handle, 1_000, 0)))
    return {}


def _in_words(signed: dict[str, Any]) -> str:
    with suppress(KeyError):
        return "process {process} on {host} since {since}".format(**signed)
    return ""


def _is_gone(signed: dict[str, Any]) -> bool:
    """Whether the signature is that of a process of this host that has ended."""
    if signed["host"] != socket.gethostname() or type(signed["process"]) is not int:
        return False
    try:
        os.kill(signed["process"], 0)
    except ProcessLookupError:
        return True
    except (OverflowError, OSError):  # not a process number, or another user's process
        pass
    return False
