"""Why the interpreter stops: errors that say at which layer, input, position and variable."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from espalier.errors import ProgramError, UndefinedError
from espalier.interpreter.attention import select
from espalier.interpreter.batch import NULL, Column, Ints, Mask, State
from espalier.interpreter.tables import UNDEFINED
from espalier.language import Numerical, Program, Value, can_halt, halting_variables, show_value


def undefined(
    program: Program, variables: Sequence[str], state: State, found: Ints
) -> UndefinedError:
    """A rule over `variables` holds but for one that is null."""
    entry = int(np.flatnonzero(found == UNDEFINED)[0])
    name = next(v for v in variables if v in program.heads and is_null(state.columns[v])[entry])
    return UndefinedError(
        f"{state.place(entry)}: a rule reads {name!r}, which is undefined there: "
        f"{_why_undefined(program, name, state, entry)}. Give the rule a condition that fails "
        f"there, or make the head select"
    )


def _why_undefined(program: Program, name: str, state: State, entry: int) -> str:
    head = program.heads[name]
    whole = state if state.whole is None else state.whole
    here = (whole.batch.example == state.batch.example[entry]) & (
        whole.batch.position == state.batch.position[entry]
    )
    count = int(select(program, head, whole).count[np.flatnonzero(here)[0]])
    if count == 0:
        return f"its head ({head}) selects no position"
    return f"its head ({head}) selects {count} positions with different values"


def two_rules(program: Program, output: str, state: State, both: Mask) -> ProgramError:
    """Two rules of `output` hold at once."""
    entry = int(np.flatnonzero(both)[0])
    assignment = {name: value_at(program, name, state, entry) for name in program.specs}
    holding = [f"[{rule}]" for rule in program.rules.of(output) if rule.holds(assignment)]
    return ProgramError(
        f"{state.place(entry)}: {len(holding)} rules of {output!r} hold together: "
        f"{' and '.join(holding[:2])}; make their conditions exclude each other"
    )


def refuse_stale(program: Program, names: Sequence[str], state: State) -> None:
    """Raise if the output of a head of `names` still holds a value when it is to be written."""
    for name in names:
        stale = ~is_null(state.columns[name])
        if stale.any():
            entry = int(np.flatnonzero(stale)[0])
            value = show_value(value_at(program, name, state, entry))
            raise ProgramError(
                f"{state.place(entry)}: the output {name!r} of a head was not reset and still "
                f"holds {value} when the next layer starts; the rules lack its reset"
            )


def refuse_endless(program: Program, state: State, watched: State) -> None:
    """Raise if all that halting depends on came back: the machine is deterministic."""
    if not len(state.batch):
        return
    if not program.derived(can_halt):
        raise _never_halts(program, state, 0, "no rule that can ever hold writes the halt value")
    refuse_repeated(program, state, watched)


def refuse_repeated(program: Program, state: State, watched: State) -> None:
    """The same by the states alone, whatever the rules could write."""
    if not len(state.batch) or state.layer == watched.layer:
        return
    # Outputs of heads are null between layers.
    names = program.derived(halting_variables) - program.heads.keys()
    again = state.equal(watched, names)
    if not again.any():
        return
    why = (
        f"its state after layer {state.layer}, as far as halting depends on it, is the one after "
        f"layer {watched.layer}"
    )
    raise _never_halts(program, state, int(np.flatnonzero(again)[0]), why)


def _never_halts(program: Program, state: State, sequence: int, why: str) -> ProgramError:
    halt = program.halt
    assert halt is not None
    entries = np.flatnonzero(
        (state.batch.example == sequence) & (state.columns[halt.variable] != halt.value)
    )
    return ProgramError(
        f"input {state.batch.inputs[sequence]} never halts: {why}, with {halt.variable!r} still "
        f"not {halt.value} at position {state.batch.position[entries[0]]}; give max_layers to stop "
        "it"
    )


def value_at(program: Program, name: str, state: State, entry: int) -> Value | None:
    """The value that rules see: a code's value, a real's bucket, None for null."""
    spec, found = program.specs[name], state.columns[name][entry]
    if is_null(state.columns[name])[entry]:
        return None
    if isinstance(spec, Numerical):
        return spec.values[spec.bucket(float(found))]
    return spec.values[int(found)]


def differ(one: Column, other: Column) -> Mask:
    """Where two columns hold different values; null is null."""
    return np.asarray((one != other) & ~((one != one) & (other != other)))


def is_null(column: Column) -> Mask:
    """Where a column is null."""
    return np.isnan(column) if column.dtype.kind == "f" else column == NULL
