"""Traces of a training set, as supervision: what goes into every sub-layer and what comes out.

They are written a part at a time, so that they need not fit into memory, and carry the hash of
their program: a file of another program is refused. A training set has few distinct traces, and
`distinct` keeps the first of equal rows.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from espalier.errors import ConfigError, FileError, ProgramError, as_flag, nearest
from espalier.files import MARK, as_path, atomic_path
from espalier.interpreter import Column, Ints, State, Sublayer
from espalier.language import Program, from_record, program_hash, to_record
from espalier.learnability.assignments import Distinct, Layer, exact_sizes, run_layers, training_set
from espalier.learnability.trace_tables import SIDES, SUBLAYERS, Side, TraceTables, columns_of
from espalier.results import Result
from espalier.version import __version__

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from torch import Tensor

KEY = b"espalier"
# Rows written together.
ROWS = 1 << 16


@dataclass(frozen=True, repr=False)
class Traces(Result):
    """Rows of (input, output) of sub-layers: in memory, or in a file that is read when needed.

    >>> import espalier as es
    >>> entry = es.zoo.load("parity-sequential-relative")
    >>> len(es.record_traces(entry.program, [entry.encode("101")], distinct=True))
    16
    """

    program: Program
    source: Path | pyarrow.Table = field(repr=False)
    rows: int
    distinct: bool

    def __len__(self) -> int:
        return self.rows

    @cached_property
    def table(self) -> pyarrow.Table:
        """All rows."""
        if not isinstance(self.source, Path):
            return self.source
        import pyarrow.parquet as pq

        with _whole(self.source):
            return pq.read_table(self.source, page_checksum_verification=True)

    def parts(self) -> Iterator[Traces]:
        """The rows a part at a time, so that a long file need not fit into memory."""
        if not isinstance(self.source, Path):
            yield self
            return
        import pyarrow as pa
        import pyarrow.parquet as pq

        checked = {"page_checksum_verification": True}
        with _whole(self.source), pq.ParquetFile(self.source, **checked) as file:
            for number in range(file.num_row_groups):
                part: pa.Table = file.read_row_group(number)
                yield Traces(self.program, part, part.num_rows, self.distinct)

    def states(self, side: Side, sublayer: Sublayer = "mlp") -> dict[str, Column]:
        """Every variable before or after a sub-layer: codes (-1 is null) or reals (NaN is)."""
        if side not in SIDES:
            raise ProgramError(f"a sub-layer has sides; {side!r} is none: {nearest(side, SIDES)}")
        return columns_of(self.program, self._of(sublayer), side)

    def vectors(self, sublayer: Sublayer = "mlp") -> tuple[Tensor, Tensor]:
        """What a compiled model should hold before and after a sub-layer, one row per trace."""
        from espalier.compiler import encode, lay_out

        layout = lay_out(self.program)
        before, after = (encode(layout, self.states(side, sublayer)) for side in SIDES)
        return before, after

    def _of(self, sublayer: Sublayer) -> pyarrow.Table:
        import pyarrow.compute as pc

        if sublayer not in SUBLAYERS:
            raise ProgramError(f"{sublayer!r} is no sub-layer; {nearest(sublayer, SUBLAYERS)}")
        return self.table.filter(pc.equal(self.table["sublayer"], sublayer))

    def to_frame(self) -> pandas.DataFrame:
        """One row per trace: sub-layer, where it was seen, and every variable before and after."""
        return self.table.to_pandas()


def record_traces(
    program: Program,
    inputs: Iterable[Iterable[object]],
    *,
    out: str | os.PathLike[str] | None = None,
    distinct: bool = False,
    vectors: bool = False,
    max_layers: int | None = None,
) -> Traces:
    """Run `program` on `inputs` and record what goes into every sub-layer and what comes out of it.

    With `out`, rows are streamed to that Parquet file, which is written completely or not at all.
    `distinct` keeps the first of equal rows, and `vectors` also writes the residual stream.

    >>> import espalier as es
    >>> entry = es.zoo.load("parity-sequential-relative")
    >>> print(es.record_traces(entry.program, [entry.encode("101")], distinct=True))
    16 distinct traces of 4 variables
    """
    path = None if out is None else as_path(out)
    if path is not None and path.suffix.lower() != ".parquet":
        raise FileError(f"traces are written as Parquet; give {path} the suffix .parquet")
    sequences, max_layers = training_set(program, inputs, max_layers)
    distinct = as_flag("distinct", distinct, error=ConfigError)
    vectors = as_flag("vectors", vectors, error=ConfigError)
    described = {
        "program": to_record(program),
        "program_sha256": program_hash(program),
        "distinct": distinct,
        "inputs": len(sequences),
        "max_layers": max_layers,
        "version": __version__,
    }
    metadata = {KEY: json.dumps(described).encode(), b"comment": MARK.encode()}
    tables = TraceTables(program, vectors=vectors, metadata=metadata)
    recorder = _Recorder(program, tables, distinct=distinct)

    def run(write: Callable[[pyarrow.Table], None]) -> int:
        recorder.write = write
        run_layers(program, sequences, max_layers=max_layers, see=recorder)
        return recorder.finish()

    if path is not None:
        return Traces(program, path, _write(path, tables.schema, run), distinct)
    found: list[pyarrow.Table] = []
    rows = run(found.append)
    return Traces(program, _join(found, tables.schema), rows, distinct)


def read_traces(path: str | os.PathLike[str], program: Program | None = None) -> Traces:
    """The traces in a file that `record_traces` wrote; if a program is given, of that one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = Path(path)
    if not file.is_file():
        raise FileError(f"there is no file {file}")
    try:
        with pq.ParquetFile(file) as opened:
            schema = opened.schema_arrow
            described = dict(json.loads((schema.metadata or {})[KEY]))
            rows, distinct = opened.metadata.num_rows, bool(described["distinct"])
    except (OSError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0]
        raise FileError(f"{file} is not a Parquet file, or damaged: {reason}") from None
    except (KeyError, TypeError, ValueError):
        raise FileError(f"{file} holds no traces; record_traces writes them") from None
    if program is None:
        program = _recorded_program(file, described)
    elif described.get("program_sha256") != program_hash(program):
        raise FileError(
            f"the traces in {file} are of another program; record them again from this one"
        )
    for column in TraceTables(program, vectors=False, metadata={}).schema:
        if [one.type for one in schema if one.name == column.name] != [column.type]:
            raise FileError(
                f"{file} has no column {column.name!r} of {column.type}, as traces of its program "
                f"have; record them again"
            )
    return Traces(program, file, rows, distinct)


def _recorded_program(file: Path, described: dict[str, Any]) -> Program:
    """The program whose traces these are, as it was written with them."""
    try:
        return from_record(described["program"])
    except (KeyError, ProgramError) as error:
        raise FileError(f"{file} does not hold the program that it is of: {error}") from error


class _Recorder:
    """Sees layers, and writes their rows once there are enough of them."""

    def __init__(self, program: Program, tables: TraceTables, *, distinct: bool) -> None:
        self.write: Callable[[pyarrow.Table], None]
        self._tables, self._names = tables, list(program.specs)
        sizes = exact_sizes(program)
        # What comes out of a head depends on other positions too.
        self._seen = {"attention": Distinct(sizes * 2), "mlp": Distinct(sizes)} if distinct else {}
        self._held: list[Any] = []
        self._held_rows = self._rows = 0

    def __call__(self, layer: Layer) -> None:
        self._add("attention", layer.before, layer.attended, np.flatnonzero(layer.awake))
        self._add("mlp", layer.attended, layer.updated, np.flatnonzero(layer.awake))

    def _add(self, sublayer: Sublayer, before: State, after: State, entries: Ints) -> None:
        if self._seen:
            states = (before, after) if sublayer == "attention" else (before,)
            columns = [state.columns[name][entries] for state in states for name in self._names]
            entries = entries[self._seen[sublayer].fresh(columns)]
        if len(entries):
            self._held.append(self._tables.rows(sublayer, before, after, entries))
            self._held_rows += len(entries)
        if self._held_rows >= ROWS:
            self._flush()

    def _flush(self) -> None:
        self.write(_join(self._held, self._tables.schema))
        self._rows += self._held_rows
        self._held, self._held_rows = [], 0

    def finish(self) -> int:
        """Write what is left; how many rows there are in all."""
        if self._held:
            self._flush()
        return self._rows


def _join(parts: Sequence[Any], schema: pyarrow.Schema) -> pyarrow.Table:
    import pyarrow as pa

    tables = [
        part if isinstance(part, pa.Table) else pa.Table.from_batches([part]) for part in parts
    ]
    return pa.concat_tables([schema.empty_table(), *tables]).combine_chunks()


def _write(
    path: Path, schema: pyarrow.Schema, run: Callable[[Callable[[pyarrow.Table], None]], int]
) -> int:
    import pyarrow.parquet as pq

    checked = {"write_page_checksum": True}
    with atomic_path(path) as temporary, pq.ParquetWriter(temporary, schema, **checked) as writer:
        return run(writer.write_table)


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """A block that reads rows of `path`, which may be gone or damaged since its schema was read."""
    import pyarrow as pa

    try:
        yield
    except (OSError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0]
        raise FileError(f"{path} is damaged ({reason}); record them again") from error
