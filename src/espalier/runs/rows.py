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


def read_parquet(file: Path, identity: str | None = None) -> tuple[list[Row], bool]:
    """The rows of one file, and whether it says that they are those of the run of this identity.

    Those of another run are refused; what was written before, or anew by a person, does not say.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise FileError(f"{file} cannot be read without pyarrow; install that") from error
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
    said = whose and whose.decode(errors="replace")
    return found, is_own(file, said, identity, "remove it")


def is_own(file: Path, whose: str | None, identity: str | None, remedy: str) -> bool:
    """Whether a file says that it is its folder's run's; that of another is refused.

    Runs of before do not say whose they are.
    """
    if whose is None or identity is None:
        return False
    if whose != identity:
        raise FileError(
            f"{file} is another run's: its {IDENTITY} is {whose}, that of this folder's manifest "
            f"{identity}; copy this run's own there, or {remedy}"
        )
    return True


def agree(rows: list[Row], others: list[Row]) -> bool:
    """Whether rows hold the same by the names that both have: a person may add some, or drop some.

    What one of them lacks is None in Parquet, and so, to pandas, is what is not a number.

    >>> agree([{"loss": float("nan"), "bits": 1.5}], [{"loss": None, "rate": 0.1}])
    True
    >>> agree([{"loss": 0.5}], [{"loss": 0.25}])
    False
    """
    return len(rows) == len(others) and all(
        row[name] == other[name]
        for one, another in zip(rows, others, strict=True)
        for row, other in [(_numbers(one), _numbers(another))]
        for name in row.keys() & other.keys()
    )


def _numbers(row: Row) -> Row:
    """What a row says, without what is missing or not a number."""
    return {name: one for name, one in row.items() if one is not None and one == one}


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
