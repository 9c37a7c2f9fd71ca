"""Reading the rows of a run: lines of JSON while it goes on, Parquet when it has ended."""

from __future__ import annotations

import json
from pathlib import Path

from espalier.errors import FileError
from espalier.files import check_readable, check_utf8
from espalier.runs.learner import Row


def whole_lines(file: Path) -> list[str]:
    """The lines of a file; the last is left out if a kill cut it short."""
    check_readable(file)
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise FileError(f"{file} is damaged ({error}); remove it to go on without it") from error
    whole = text[: text.rfind("\n") + 1]
    return [line for line in whole.split("\n") if line]


def read_parquet(file: Path) -> list[Row]:
    """The rows of one file."""
    import pyarrow
    import pyarrow.parquet

    check_utf8(file)
    check_readable(file)
    try:
        table = pyarrow.parquet.read_table(file, page_checksum_verification=True)
        found: list[Row] = table.to_pylist()
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        raise FileError(
            f"{file} is damaged ({error}); remove it to go on without the measures in it"
        ) from error
    return found


def row_of(file: Path, number: int, line: str) -> Row:
    """The row on a line."""
    try:
        found: Row = json.loads(line)
        why = "" if isinstance(found, dict) else f"a {type(found).__name__}, not a row"
    except (ValueError, RecursionError) as error:
        why = f"not JSON ({error})"
    if why:
        raise FileError(f"{file}, line {number}, is {why}; remove the line to go on")
    return found
