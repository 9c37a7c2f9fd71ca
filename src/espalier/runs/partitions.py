"""A table of many jobs: a folder of Parquet files, one per job, each written whole or not at all.

A job that is killed leaves nothing, and one that is done twice leaves the same file, so that no row
is lost or duplicated. Complete files are not computed again. A file carries the identity of its run
and the name of its job, and is refused in another run's folder or under another name.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from espalier.errors import FileError
from espalier.files import atomic_path, check_plain, check_utf8, marked, remove_leftovers
from espalier.runs.folder import RunFolder
from espalier.runs.function_files import FILE, sent_once
from espalier.runs.jobs import HERE, AnyWorkers, Job, Workers, run_jobs
from espalier.runs.lock import check_held, signature_of
from espalier.runs.memory import peak_bytes
from espalier.runs.rows import IDENTITY, is_own

if TYPE_CHECKING:
    import pyarrow

PART = "part"  # the name of a file's job, in the file
_SIGNED = (IDENTITY, PART)


@dataclass(frozen=True)
class Part:
    """The file of one job: its name and number of rows.

    `peak_bytes` is the peak memory of its process; 0 if the file was there before.
    """

    name: str
    rows: int
    peak_bytes: int = 0


def fill_table(
    folder: Path,
    function: Callable[..., Any],
    jobs: Iterable[Job],
    workers: AnyWorkers = HERE,
    *,
    columns: Mapping[str, str] | None = None,
) -> Iterator[Part]:
    """Every job's part; those that are missing are computed and written first.

    `function` returns a pyarrow table, or rows with these types of `columns`. A job's file is
    part-NAME.parquet, and rows are in the order of the names; a part of no job is refused.
    The caller holds the lock.

    >>> place = getfixture("tmp_path") / "squares"
    >>> jobs = [Job(str(n), (n,)) for n in (1, 2)]
    >>> [part.rows for part in fill_table(place, _squares, jobs, columns={"square": "int64"})]
    [1, 1]
    """
    workers = Workers.of(workers)
    check_utf8(folder.resolve())
    folder.mkdir(exist_ok=True)
    remove_leftovers(folder)
    (folder / FILE).unlink(missing_ok=True)
    own: set[str] = set()
    waiting, identity = _noted(jobs, own), None
    with suppress(FileError):  # of another manifest than a run's
        identity = RunFolder(folder.parent).identity()
    for job in waiting:  # parts are yielded as they are checked, which takes a while
        rows = _whole(_file(folder, job), job, identity)
        if rows is None:
            waiting = chain([job], waiting)
            yield from _filled(folder, function, waiting, workers, columns, identity=identity)
            break
        yield Part(job.name, rows)
    _refuse_others(folder, own)


def _noted(jobs: Iterable[Job], own: set[str]) -> Iterator[Job]:
    """The jobs; the names of their files are added to `own`."""
    for job in jobs:
        own.add(_file(Path(), job).name)
        yield job


def _filled(
    folder: Path,
    function: Callable[..., Any],
    jobs: Iterable[Job],
    workers: Workers,
    columns: Mapping[str, str] | None,
    *,
    identity: str | None,
) -> Iterator[Part]:
    """The parts of jobs, of which some are missing."""
    there: deque[Part] = deque()
    # On another machine, a file system's cache may show an old lock.
    signed = signature_of(folder.parent) if workers.cluster is None else None

    def missing(work: Callable[..., Any]) -> Iterator[Job]:
        for job in jobs:
            file = _file(folder, job)
            rows = _whole(file, job, identity)
            if rows is None:
                check_held(folder.parent, signature_of(folder.parent))
                place = _Place(str(file.resolve()), job.name, identity, signed)
                arguments = (work, place, columns, *job.arguments)
                yield replace(job, arguments=arguments)
            else:
                there.append(Part(job.name, rows))

    with nullcontext(function) if workers == HERE else sent_once(function, folder) as work:
        for job, (rows, peak) in run_jobs(_write, missing(work), workers):
            while there:
                yield there.popleft()
            yield Part(job.name, rows, peak)
    yield from there


def _refuse_others(folder: Path, own: Set[str]) -> None:
    """Raise if there are parts of no job, such as copies that file synchronisation makes."""
    others = sorted({file.name for file in folder.glob("part-*.parquet")} - own)
    if others:
        raise FileError(
            f"{folder / others[0]} is no part of this table, which is complete without it; move it "
            f"elsewhere, and run the same command again"
        )


def _file(folder: Path, job: Job) -> Path:
    return folder / f"part-{job.name}.parquet"


def _whole(file: Path, job: Job, identity: str | None) -> int | None:
    """The number of rows of a readable part; None if it is to be computed."""
    import pyarrow
    from pyarrow import parquet

    check_plain(file)  # opening a pipe would block
    try:
        with parquet.ParquetFile(file, page_checksum_verification=True) as found:
            groups = range(found.num_row_groups)
            rows = sum(int(found.read_row_group(group).num_rows) for group in groups)
            written = found.schema_arrow.metadata or {}
    except (OSError, pyarrow.ArrowException):
        return None
    said = {name: written.get(name.encode(), b"").decode(errors="replace") for name in _SIGNED}
    is_own(file, said[IDENTITY] or None, identity, "remove it")
    if said[PART] not in ("", job.name):
        raise FileError(
            f"{file} is the part {said[PART]} of this table, not {job.name}; remove it, and run "
            f"the same command again"
        )
    return rows


@dataclass(frozen=True)
class _Place:
    """Where a part is written, and what it carries."""

    file: str
    name: str
    identity: str | None
    signed: bytes | None  # the lock of the table's folder

    def carried(self, table: pyarrow.Table) -> dict[str | bytes, str | bytes]:
        """The metadata of the part of this table."""
        mine = {PART: self.name} | ({} if self.identity is None else {IDENTITY: self.identity})
        return {**(marked(table).schema.metadata or {}), **mine}


def _write(
    function: Callable[..., Any],
    place: _Place,
    columns: Mapping[str, str] | None,
    *arguments: Any,
) -> tuple[int, int]:
    """Compute a part and write it; its number of rows, and the peak memory of this process."""
    from pyarrow import parquet

    table = as_table(function(*arguments), columns)
    table = table.replace_schema_metadata(place.carried(table))
    check_held(Path(place.file).parents[1], place.signed)
    with atomic_path(place.file) as temporary:
        parquet.write_table(table, temporary, compression="zstd", write_page_checksum=True)
    return len(table), peak_bytes()


def as_table(rows: Any, columns: Mapping[str, str] | None) -> pyarrow.Table:
    """Rows as a table with these columns; a table is returned unchanged."""
    import pyarrow as pa

    if isinstance(rows, pa.Table):
        return rows
    given = (columns or {}).items()
    schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in given])
    return pa.Table.from_pylist(rows, schema=schema if columns else None)


def _squares(number: int) -> list[dict[str, int]]:
    return [{"square": number * number}]
