"""Files written whole or not at all."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from espalier.errors import EspalierError, FileError

if TYPE_CHECKING:
    import pandas

FRAME_SUFFIXES = (".csv", ".parquet", ".json")
# What a system says when the disk, or a share of it, is full, broken or not ours to write.
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EACCES)


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends without an error."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileError(f"cannot write {target}: the folder {target.parent} does not exist")
    if target.is_dir():
        raise FileError(f"cannot write {target}: it is a folder; give the name of a file")
    with onto_disk(target):
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        os.close(handle)
        temporary = Path(name)
        try:
            yield temporary
            umask = os.umask(0)
            os.umask(umask)
            temporary.chmod(0o666 & ~umask)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def onto_disk(path: Path) -> Iterator[None]:
    """A block that writes `path`; a full disk is told as such, whichever library met it."""
    try:
        yield
    except EspalierError:
        raise
    except _failures() as error:
        if isinstance(error, OSError) and error.errno not in _DISK:
            raise
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise FileError(
            f"cannot write {path}: {reason}; nothing was left half-written: make room or choose "
            f"another place, and do the same again"
        ) from error


def _failures() -> tuple[type[Exception], ...]:
    """What writing raises; safetensors, where it is used, has an error of its own."""
    loaded = sys.modules.get("safetensors")
    return (OSError,) if loaded is None else (OSError, loaded.SafetensorError)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` to `path`, whole or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_frame(path: str | os.PathLike[str], frame: pandas.DataFrame) -> None:
    """Write a table as CSV, Parquet or JSON, by the suffix of `path`."""
    suffix = Path(path).suffix.lower()
    if suffix not in FRAME_SUFFIXES:
        raise FileError(
            f"cannot save a table as {suffix or 'a file without suffix'!r} ({path}); "
            f"use one of {', '.join(FRAME_SUFFIXES)}"
        )
    with atomic_path(path) as temporary:
        match suffix:
            case ".csv":
                frame.to_csv(temporary, index=False)
            case ".parquet":
                frame.to_parquet(temporary, index=False)
            case _:
                frame.to_json(temporary, orient="records", indent=1)
