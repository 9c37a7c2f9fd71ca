"""Files written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from espalier.errors import FileError

if TYPE_CHECKING:
    import pandas

FRAME_SUFFIXES = (".csv", ".parquet", ".json")


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends without an error."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileError(f"cannot write {target}: the folder {target.parent} does not exist")
    if target.is_dir():
        raise FileError(f"cannot write {target}: it is a folder; give the name of a file")
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
