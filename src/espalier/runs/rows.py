"""A run's rows on disk: lines of JSON while it is in progress, Parquet when it has ended."""

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
        raise FileError(f"{file} is damaged ({error}); remove it to continue without it") from error
    whole = text[: text.rfind("\n") + 1]
    return [line for line in whole.split("\n") if line]


def read_parquet(file: Path, identity: str | None = None) -> tuple[list[Row], bool]:
    """The rows of one file, and whether it carries this identity of a run.

    Those of another run are refused; files of earlier versions or of the user carry none.
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
            f"{file} is damaged ({error}); remove it to continue without the measures in it"
        ) from error
    whose = (table.schema.metadata or {}).get(IDENTITY.encode())
    said = whose and whose.decode(errors="replace")
    return found, is_own(file, said, identity, "remove it")


def is_own(file: Path, whose: str | None, identity: str | None, remedy: str) -> bool:
    """Whether a file carries the identity of its folder's run; that of another is refused.

    Files of earlier versions carry none.
    """
    if whose is None or identity is None:
        return False
    if whose != identity:
        raise FileError(
            f"{file} is another run's: its {IDENTITY} is {whose}, that of this folder's manifest "
            f"{identity}; copy this run's own there, or {remedy}"
        )
    return True


def longer(
    lines: tuple[list[Row], bool], parquet: tuple[list[Row], bool], *, files: tuple[Path, Path]
) -> tuple[list[Row], bool]:
    """The longer one of a table's two files, if it begins with the other.

    A run that was killed while one replaced the other has both. So has a copy of a folder that was
    made twice: old lines next to newer Parquet.
    """
    both = min(len(lines[0]), len(parquet[0]))
    if not agree(lines[0][:both], parquet[0][:both]):
        raise FileError(
            f"{files[0]} and {files[1].name} differ, and both are the same table's; remove the one "
            f"that is not this run's"
        )
    return parquet if len(parquet[0]) > len(lines[0]) else lines


def agree(rows: list[Row], others: list[Row]) -> bool:
    """Whether rows agree in the columns that both have: the user may add some, or drop some.

    Missing values are None in Parquet, and so, from pandas, are those that are NaN.

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
    """A row without values that are missing or NaN."""
    return {name: one for name, one in row.items() if one is not None and one == one}


def write_parquet(file: Path, rows: list[Row], identity: str | None) -> None:
    """Write rows as Parquet; a column that a row lacks is None there."""
    import pyarrow
    import pyarrow.parquet

    columns = dict.fromkeys(name for row in rows for name in row)  # of all rows, not only the first
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
        raise FileError(f"{file}, line {number}, is {why}; remove the line to continue")
    return found
