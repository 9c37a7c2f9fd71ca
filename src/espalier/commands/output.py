"""Where commands write: one flag for all of them, which does not overwrite the user's files.

A file that espalier wrote is marked inside, and is overwritten without asking; a table of plain
text is recognised by its columns. Any other file that is in the way is left alone, unless forced.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from espalier.commands.show import console
from espalier.errors import FileError
from espalier.files import MARK, check_writable

if TYPE_CHECKING:
    from espalier.results import Result

NAMES = ("--out", "-o", "--output")
Force = Annotated[
    bool, Parameter(negative="", help="Write over a file that espalier did not write.")
]
OutFile = Annotated[
    Path | None,
    Parameter(
        name=NAMES,
        help="Write .html, .png, .svg, .pdf, .csv, .parquet or .json, by the suffix.",
    ),
]
OutTable = Annotated[
    Path | None, Parameter(name=NAMES, help="Write a table: .csv, .parquet or .json.")
]
OutParquet = Annotated[Path, Parameter(name=NAMES, help="The Parquet file to write.")]
OutFolder = Annotated[
    Path, Parameter(name=NAMES, help="The run's folder; an unfinished run there is resumed.")
]
Processes = Annotated[
    int | None,
    Parameter(name="--workers", help="Share the work among this many processes of this machine."),
]
Cluster = Annotated[
    str | None, Parameter(help="A dask scheduler, tcp://host:port, whose workers see these files.")
]
# Bytes of each end of a file that are read to see who wrote it.
_ENDS = 1 << 16


def check_page(path: Path | None) -> None:
    """Refuse a name for a page that is not a page's."""
    if path is not None and path.suffix.lower() not in (".html", ".htm"):
        raise FileError(f"--html writes a page; give {path} the suffix .html, or use --out")


def save(result: Result, path: Path | None, *, force: bool) -> bool:
    """Write a result where it was asked for, and say so; False where it was not."""
    if path is None:
        return False
    if path.exists() and not force:
        plain = path.suffix.lower() in (".csv", ".json")
        columns = [str(name) for name in result.to_frame().columns] if plain else ()
        refuse_foreign(path, force=force, columns=columns)
    result.save(path)
    console().print(f"wrote {path}", highlight=False)
    return True


def refuse_foreign(path: Path | None, *, force: bool, columns: Sequence[str] | None = None) -> None:
    """Refuse to write over a file that espalier did not write; `columns` are a table's own.

    Asked before long work, tables in plain text are let through: they are judged when written.
    """
    if path is not None and not path.is_dir():  # of folders each command says what to name in them
        check_writable(path)
    if path is None or force or not path.is_file():
        return
    if path.suffix.lower() in (".csv", ".json"):
        if columns is None or _columns(path) == list(columns):
            return
    elif _is_marked(path):
        return
    raise FileError(
        f"{path} is there and was not written by espalier; choose another name, or add --force"
    )


def _is_marked(path: Path) -> bool:
    with path.open("rb") as file:
        ends = file.read(_ENDS)
        file.seek(max(0, path.stat().st_size - _ENDS))
        ends += file.read()
    mark = b'"checksums"' if path.suffix == ".safetensors" else MARK.encode()
    return mark in ends


def _columns(path: Path) -> list[str]:
    """The columns of a table in plain text; none of what is not a table."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix.lower() == ".csv":
        return text.partition("\n")[0].split(",")
    try:
        rows = json.loads(text)
        return list(rows[0])
    except (ValueError, LookupError, TypeError):
        return []
