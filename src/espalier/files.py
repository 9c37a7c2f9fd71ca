"""Files written whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from espalier.errors import EspalierError, FileError

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from matplotlib.figure import Figure

MANIFEST = "manifest.json"  # says what run a folder holds
MARK = "written by espalier"  # is in every page, figure and Parquet file
_OPEN = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")  # names of what this process has open
UNFINISHED = ".unfinished"  # ends the names of files that are being written
LONGEST_SHOWN = 200  # characters of a name
FRAME_SUFFIXES = (".csv", ".parquet", ".json")
FIGURE_SUFFIXES = (".png", ".svg", ".pdf")
_DESCRIPTIONS = {".png": "Comment", ".svg": "Description", ".pdf": "Subject"}
# What to do about a system's error when a disk is full, broken or not writable.
_REMEDIES = {
    errno.ENOSPC: "make room or choose another place",
    errno.EDQUOT: "make room or choose another place",
    errno.EFBIG: "choose a place that takes larger files",
    errno.EIO: "look at the disk, or choose another place",
    errno.EROFS: "choose a place that can be written",
    errno.EACCES: "choose a place that you may write to, or ask for the permission",
    errno.EPERM: "choose a place that you may write to, or ask for the permission",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ELOOP: "choose another name",
}


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path next to `path` that takes its place when the block ends without an error.

    Where `path` is a link, the file that it leads to is written, and the link stays; a link in a
    run's folder is replaced.
    """
    with onto_disk(Path(path)):
        target = _linked(path)
        if not target.parent.is_dir():
            raise FileError(f"cannot write {path}: the folder {target.parent} does not exist")
        check_writable(path)
        try:
            handle, name = tempfile.mkstemp(UNFINISHED, f".{target.name}.", target.parent)
        except OSError as error:  # whatever it is, nothing can be written there
            raise _refusal(target, error) from error
        os.close(handle)
        temporary = Path(name)
        try:
            yield temporary
            _flush(temporary)  # or a power cut could leave the name with nothing behind it
            umask = os.umask(0)
            os.umask(umask)
            temporary.chmod(0o666 & ~umask)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


def settle(path: Path) -> None:
    """Wait until a file and its name are on the disk, to outlive a power cut."""
    with onto_disk(path):
        _flush(path)
        _flush(path.parent)


def _flush(path: Path) -> None:
    """Wait until what a file or folder holds is on the disk, if the file system supports it."""
    if os.name == "nt":  # pragma: no cover - waits only for files that are open for writing
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(handle)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse the name of something, such as a device, that cannot be replaced by a file.

    >>> check_writable(os.devnull)
    Traceback (most recent call last):
    espalier.errors.FileError: cannot write /dev/null: it is a device; give the name of a file
    """
    kind = "folder" if os.path.isdir(path) else _special(path)
    if kind:
        raise FileError(f"cannot write {path}: it is a {kind}; give the name of a file")


def _linked(path: str | os.PathLike[str]) -> Path:
    """The file that a link leads to, whether it exists or not; any other path itself.

    A link next to a run's manifest is returned itself: a copy of a run by links must not write into
    the run.
    """
    if not os.path.islink(path) or os.path.lexists(Path(path).with_name(MANIFEST)):
        return Path(path)
    with suppress(FileNotFoundError):
        os.stat(path)  # which raises if links lead to each other
    return Path(os.path.realpath(path))


@contextmanager
def folder_beside(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary folder next to `path`, for libraries that write more than the file they name.

    safetensors writes a hidden file there, which a kill would leave next to the named one.
    """
    place = _linked(path)
    prefix = f".{place.name}."
    with tempfile.TemporaryDirectory(UNFINISHED, prefix, place.parent) as name:
        yield Path(name)


def as_path(path: object) -> Path:
    """The path of a name; one that no file can have is refused.

    >>> as_path(None)
    Traceback (most recent call last):
    espalier.errors.FileError: None is no path; give the name of a file or a folder
    """
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise FileError(f"{path!r} is no path; give the name of a file or a folder")
    if not os.fspath(path):
        raise FileError("the path is empty; give the name of a file, or . for this folder")
    try:
        os.stat(path)
    except ValueError as error:
        raise FileError(f"{path!r} is no path: {error}") from None
    except OSError as error:
        if error.errno in (errno.ENAMETOOLONG, errno.ELOOP):
            name = str(path)
            shown = name if len(name) <= LONGEST_SHOWN else f"{name[:LONGEST_SHOWN]}..."
            raise FileError(f"cannot use {shown}: {error.strerror}") from None
    return Path(path)


def check_utf8(path: str | os.PathLike[str]) -> None:
    """Refuse a name whose bytes are no UTF-8, which Parquet's library neither reads nor writes.

    >>> check_utf8(os.fsdecode(b"caf\\xe9"))
    Traceback (most recent call last):
    espalier.errors.FileError: the name 'caf\\udce9' is no UTF-8; rename it, or choose another place
    """
    try:
        os.fspath(path).encode()
    except UnicodeEncodeError:
        raise FileError(
            f"the name {os.fspath(path)!r} is no UTF-8; rename it, or choose another place"
        ) from None


def check_readable(path: str | os.PathLike[str]) -> None:
    """Refuse a file that cannot be opened, so that it is not reported as damaged.

    >>> check_readable(".")
    Traceback (most recent call last):
    espalier.errors.FileError: cannot read .: Is a directory
    """
    check_plain(path)
    try:
        with Path(path).open("rb"):
            pass
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from error


def check_plain(path: str | os.PathLike[str], *, piped: bool = False) -> None:
    """Refuse a device, a pipe or a socket: reading it may never end, or never begin.

    A file that is read only once may be `piped`: an open pipe, by | or a shell's <(...).

    >>> check_plain(os.devnull)
    Traceback (most recent call last):
    espalier.errors.FileError: /dev/null is a device, not a file; ...
    """
    kind = _special(path)
    if kind and not (piped and kind == "pipe" and os.path.abspath(path).startswith(_OPEN)):
        raise FileError(
            f"{path} is a {kind}, not a file; save what comes from it as a file, and name that"
        )


def _special(path: str | os.PathLike[str]) -> str | None:
    """The kind of what is there, if it is neither a file nor a folder."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):  # opening it will report the reason
        return None
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return None
    return "pipe" if stat.S_ISFIFO(mode) else "socket" if stat.S_ISSOCK(mode) else "device"


def remove_leftovers(folder: str | os.PathLike[str]) -> None:
    """Remove the files in a folder that a killed process left half-written.

    Only for a process that has locked the folder.
    """
    for file in Path(folder).glob(f".*{UNFINISHED}"):
        if re.fullmatch(rf"\..+\.\w{{8}}{re.escape(UNFINISHED)}", file.name):
            if file.is_dir() and not file.is_symlink():
                shutil.rmtree(file, ignore_errors=True)
            else:
                file.unlink(missing_ok=True)


@contextmanager
def onto_disk(path: Path) -> Iterator[None]:
    """A block that writes `path`; errors of the disk, from any library, are FileErrors."""
    try:
        yield
    except EspalierError:
        raise
    except _failures() as error:
        if isinstance(error, OSError) and error.errno not in _REMEDIES:
            raise
        raise _refusal(path, error) from error


def _refusal(path: Path, error: Exception) -> FileError:
    """The error of a failed write: the system's reason, and what to do about it."""
    code = error.errno if isinstance(error, OSError) else errno.ENOSPC
    reason = error.strerror if isinstance(error, OSError) else str(error)
    remedy = _REMEDIES.get(code or 0, "choose another place")
    return FileError(
        f"cannot write {path}: {reason}; nothing was left half-written: {remedy}, and do the same "
        f"again"
    )


def _failures() -> tuple[type[Exception], ...]:
    """The errors that writing raises; safetensors, where it is used, has its own."""
    loaded = sys.modules.get("safetensors")
    return (OSError,) if loaded is None else (OSError, loaded.SafetensorError)


def suggest_name(path: str | os.PathLike[str], suffix: str) -> Path:
    """The path with that suffix; of a folder such as `.`, a file in it."""
    place = Path(path)
    return place.with_suffix(suffix) if place.name else place / f"model{suffix}"


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` to `path`, whole or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_figure(path: str | os.PathLike[str], figure: Figure) -> None:
    """Write a figure as PNG, SVG or PDF, by the suffix of `path`, whole or not at all."""
    suffix = _suffix(path, FIGURE_SUFFIXES, "figure")
    with atomic_path(path) as temporary:
        metadata = {_DESCRIPTIONS[suffix]: MARK}
        figure.savefig(temporary, format=suffix[1:], dpi=200, metadata=metadata)


def write_frame(path: str | os.PathLike[str], frame: pandas.DataFrame) -> None:
    """Write a table as CSV, Parquet or JSON, by the suffix of `path`, whole or not at all."""
    suffix = _suffix(path, FRAME_SUFFIXES, "table")
    with atomic_path(path) as temporary:
        match suffix:
            case ".csv":
                frame.to_csv(temporary, index=False)
            case ".parquet":
                write_parquet(temporary, frame)
            case _:
                frame.to_json(temporary, orient="records", indent=1)


def write_parquet(path: Path, frame: pandas.DataFrame) -> None:
    """Write a table as Parquet, marked as ours."""
    import pyarrow as pa
    from pyarrow import parquet

    check_utf8(path)
    table = marked(pa.Table.from_pandas(frame, preserve_index=False))
    parquet.write_table(table, path, write_page_checksum=True)


def marked(table: pyarrow.Table) -> pyarrow.Table:
    """The table with the mark among its metadata."""
    return table.replace_schema_metadata({**(table.schema.metadata or {}), "comment": MARK})


def _suffix(path: str | os.PathLike[str], known: tuple[str, ...], what: str) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in known:
        raise FileError(
            f"cannot save a {what} as {suffix or 'a file without suffix'!r} ({path}); "
            f"use one of {', '.join(known)}"
        )
    return suffix
