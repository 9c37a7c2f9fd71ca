"""Traces as Arrow tables: states in, record batches out, and back.

A row is one position in one sub-layer. `before.x` and `after.x` hold the variable x at its input
and output: an integer, a real, or the name of a set; null is null. `input`, `layer` and `position`
say where it was (first) seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from espalier.errors import FileError
from espalier.interpreter import NULL, Column, Ints, State, Sublayer
from espalier.language import Categorical, Numerical, Program, SetValued, Variable, show_value

if TYPE_CHECKING:
    import pyarrow

Side = Literal["before", "after"]
SIDES: tuple[Side, ...] = get_args(Side)
SUBLAYERS: tuple[Sublayer, ...] = get_args(Sublayer)
PLACE = ("input", "layer", "position")


class TraceTables:
    """Makes record batches of one program's states, all of one schema."""

    def __init__(self, program: Program, *, vectors: bool, metadata: Mapping[bytes, bytes]) -> None:
        import pyarrow as pa

        self._program = program
        self._layout = _layout(program) if vectors else None
        fields = [pa.field("sublayer", pa.dictionary(pa.int8(), pa.string()))]
        fields += [pa.field(name, pa.int32()) for name in PLACE]
        for side in SIDES:
            fields += [pa.field(f"{side}.{n}", _type(s)) for n, s in program.specs.items()]
        if self._layout is not None:
            width = self._layout.width
            fields += [pa.field(side, pa.list_(pa.float32(), width)) for side in SIDES]
        self.schema = pa.schema(fields, metadata=dict(metadata))

    def rows(
        self, sublayer: Sublayer, before: State, after: State, entries: Ints
    ) -> pyarrow.RecordBatch:
        """The record batch of these entries of two states."""
        import pyarrow as pa

        batch = before.batch
        places = (
            batch.inputs[batch.example[entries]],
            np.full(len(entries), after.layer),
            batch.position[entries],
        )
        codes = np.full(len(entries), SUBLAYERS.index(sublayer), dtype=np.int8)
        arrays = [pa.DictionaryArray.from_arrays(codes, list(SUBLAYERS))]
        arrays += [pa.array(place, pa.int32()) for place in places]
        states = [
            {name: state.columns[name][entries] for name in self._program.specs}
            for state in (before, after)
        ]
        for columns in states:
            arrays += [_array(spec, columns[name]) for name, spec in self._program.specs.items()]
        if self._layout is not None:
            arrays += [self._vectors(columns) for columns in states]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _vectors(self, columns: Mapping[str, Column]) -> Any:
        import pyarrow as pa

        from espalier.compiler import encode

        assert self._layout is not None
        flat = encode(self._layout, columns).numpy().ravel()
        return pa.FixedSizeListArray.from_arrays(pa.array(flat), self._layout.width)


def columns_of(program: Program, table: pyarrow.Table, side: Side) -> dict[str, Column]:
    """Every variable's column as the machine holds it: codes (-1 is null), or reals (NaN is)."""
    found = {}
    for name, spec in program.specs.items():
        try:
            found[name] = _column(spec, table.column(f"{side}.{name}"))
        except LookupError as error:
            raise FileError(
                f"the traces hold {error} as {side}.{name}, which is no value of {name!r} in their "
                f"program; record them again"
            ) from error
    return found


def _type(spec: Variable) -> Any:
    import pyarrow as pa

    match spec:
        case Categorical():
            return pa.int32()
        case Numerical():
            return pa.float64()
        case SetValued():
            return pa.dictionary(pa.int32(), pa.string())


def _array(spec: Variable, column: Column) -> Any:
    import pyarrow as pa

    match spec:
        case Categorical():
            return pa.array(column.astype(np.int32), mask=column == NULL)
        case Numerical():
            return pa.array(column, mask=np.isnan(column))
        case SetValued(values=sets):
            return pa.DictionaryArray.from_arrays(
                pa.array(column.astype(np.int32)), [show_value(value) for value in sets]
            )


def _column(spec: Variable, stored: Any) -> Column:
    match spec:
        case Categorical():
            codes = np.asarray(stored.fill_null(NULL).to_numpy()).astype(np.int64)
            if len(wrong := codes[(codes < NULL) | (codes >= len(spec.values))]):
                raise LookupError(wrong[0])
            return codes
        case Numerical():
            return np.asarray(stored.fill_null(np.nan).to_numpy())
        case SetValued(values=sets):
            known = {show_value(value): code for code, value in enumerate(sets)}
            found = [
                np.array([known[name] for name in chunk.dictionary.to_pylist()], dtype=np.int64)[
                    chunk.indices.to_numpy()
                ]
                for chunk in stored.chunks
            ]
            return np.concatenate([np.zeros(0, dtype=np.int64), *found])


def _layout(program: Program) -> Any:
    from espalier.compiler import lay_out

    return lay_out(program)
