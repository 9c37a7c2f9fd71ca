"""A run's rows on disk: lines of JSON while it goes on, Parquet when it has ended."""

from __future__ import annotations

import json
from pathlib import Path

from espalier.errors import FileError
from espalier.files import atomic_path, check_readable, check_utf8
from espalier.runs.learner import Row

IDENTITY = "identity"  # of a run's settings and data: in its manifest and in its files


def whole_lines(file: Path) -> list[str]:
    """The lines of a file; the last is left out if a kill cut it short."""
    check_readable(file)
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise FileError(f"{file} is damaged ({error}); remove it to go on without it") from error
    whole = text[: text.rfind("\n") + 1]
    return [line for line in whole.split("\n") if line]


def read_parquet(file: Path, identity: str | None = None) -> list[Row]:
    """The rows of one file, if no other run than that with this identity wrote them."""
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
    whose = (table.schema.metadata or {}).get(IDENTITY.encode())
    refuse_others(file, whose and whose.decode(errors="replace"), identity, "remove it")
    return found


def refuse_others(file: Path, whose: str | None, identity: str | None, remedy: str) -> None:
    """Raise if a file is another run's than its folder; those of before do not say whose."""
    if None not in (whose, identity) and whose != identity:
        raise FileError(
            f"{file} is another run's: its {IDENTITY} is {whose}, that of this folder's manifest "
            f"{identity}; copy this run's own there, or {remedy}"
        )


def are_equal(rows: list[Row], others: list[Row]) -> bool:
    """Whether rows hold the same; what one of them lacks is None in Parquet.

    >>> are_equal([{"loss": float("nan"), "rate": None}], [{"loss": float("nan")}])
    True
    """
    return [_written(row) for row in rows] == [_written(row) for row in others]


def _written(row: Row) -> dict[str, object]:
    return {
        name: "nan" if value != value else value for name, value in row.items() if value is not None
    }


def write_parquet(file: Path, rows: list[Row], identity: str | None) -> None:
    """Write rows as Parquet; what a row does not have, and others do, is None there."""
    import pyarrow
    import pyarrow.parquet

    columns = dict.fromkeys(name for row in rows for name in row)  # not the first row's
    table = pyarrow.Table.from_pylist([{n: row.get(n) for n in columns} for row in rows])
    if identity is not None:
        table = table.replace_schema_metadata({IDENTITY: identity})
    with atomic_path(file) as temporary:
        pyarrow.parquet.write_table(table, temporary, write_page_checksum=True)


def read_lines(file: Path) -> list[Row]:
    """The rows of one file of lines; the last is left out if a kill cut it short."""
    return [_row_of(file, n, text) for n, text in enumerate(whole_lines(file), start=1)]


def _row_of(file: Path, number: int, line: str) -> Row:
    """The row on a line."""
    try:
        found: Row = json.loads(line)
        why = "" if isinstance(found, dict) else f"a {type(found).__name__}, not a row"
    except (ValueError, RecursionError) as error:
        why = f"not JSON ({error})"
    if why:
        raise FileError(f"{file}, line {number}, is {why}; remove the line to go on")
    return found
