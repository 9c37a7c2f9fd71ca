"""The values and edges of a trace, under the names that a run of the weights has.

Everything that is indexed by layer begins with layer 0, the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from espalier.errors import ProgramError, nearest
from espalier.interpreter.attention import Edges, selects
from espalier.interpreter.batch import Batch, Ints, Mask, State
from espalier.interpreter.interventions import IntervenedMachine
from espalier.interpreter.tables import Fires
from espalier.interventions import Plan, Sublayer, Units, make_plan
from espalier.language import Numerical, Program, Value

if TYPE_CHECKING:
    from espalier.interpreter.trace import Moment, Trace


@dataclass(frozen=True, eq=False)
class TraceCache:
    """The values, attention and rules of a trace."""

    trace: Trace

    def residual(self, layer: int, sublayer: Sublayer = "mlp") -> dict[str, list[Value | None]]:
        """Every variable at every position after a sub-layer: what the stream encodes."""
        return self.trace.moment(layer, sublayer).columns

    def variable(self, name: str, sublayer: Sublayer = "mlp") -> NDArray[Any]:
        """The values of a variable, layer by position; None is null.

        After "attention" too, row 0 is the start.
        """
        check_name(self.trace.program.specs, name, "variable")
        layers = range(1, self.trace.layers + 1)
        moments = [self.trace.moments[0], *(self.trace.moment(n, sublayer) for n in layers)]
        found = np.empty((len(moments), len(self.trace.tokens)), dtype=object)
        for row, moment in zip(found, moments, strict=True):
            row[:] = moment.columns[name]
        return found

    def attention(self, head: str) -> NDArray[np.float64]:
        """Layer x query x key: 1 over the number that a query selects, for each that it does.

        Layer 0 has none, nor has a position that rests.
        """
        program, length = self.trace.program, len(self.trace.tokens)
        check_name(program.heads, head, "head")
        found = np.zeros((self.trace.layers + 1, length, length))
        query, key = (places.ravel() for places in np.indices((length, length)))
        for layer in range(1, self.trace.layers + 1):
            state = self._state(self.trace.moment(layer - 1, "mlp"))
            edges = Edges(query, key)
            chosen = selects(program, program.heads[head], state, edges)
            chosen &= self._machine.in_reach(head, state.batch, edges)
            chosen &= ~self._machine.resting(state)[query]
            chosen = chosen.reshape(length, length)
            cut = self._machine.cuts(state).get(head, Edges(query[:0], key[:0]))
            chosen[cut.query, cut.key] = False
            found[layer] = chosen / np.maximum(chosen.sum(1, keepdims=True), 1)
        return found

    @cached_property
    def units(self) -> Units:
        """The rules that fired: layer x position x rule."""
        program, machine, rows = self.trace.program, self._machine, [(0, 0, 0)][:0]
        for layer in range(1, self.trace.layers + 1):
            before = self._state(self.trace.moment(layer - 1, "mlp"))
            middle = self._state(self.trace.moment(layer, "attention"))
            machine.seen.clear()
            machine.update(replace(middle, resting=machine.resting(before)))
            rows += [(layer, *place) for place in machine.seen]
        rows = sorted(row for row in rows if not program.rules[row[2]].is_reset)
        layers, positions, rules = np.asarray(rows, dtype=np.int64).reshape(-1, 3).T
        shape = (self.trace.layers + 1, len(self.trace.tokens), len(program.rules))
        return Units(program, shape, layers, positions, rules, np.ones(len(rows)))

    @cached_property
    def _machine(self) -> _Recorder:
        lengths = [len(self.trace.tokens)]
        changes = [self.trace.interventions]
        return _Recorder(make_plan(self.trace.program, changes, lengths, checked=False))

    def _state(self, moment: Moment) -> State:
        program = self.trace.program
        columns = {name: _column(program, name, values) for name, values in moment.columns.items()}
        batch = Batch.of([len(self.trace.tokens)])
        return State(batch, moment.layer, columns, nullable=True)


class _Recorder(IntervenedMachine):
    """Records which rules fire at which positions of its only sequence."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan, needs_rules=True)
        self.seen: list[tuple[int, int]] = []

    def fires(self, state: State) -> Fires:
        """Whether rules fire; those that do are recorded."""
        inner, position = super().fires(state), state.batch.position

        def fires(entries: Ints, rules: Ints) -> Mask:
            firing = np.ones(len(entries), dtype=bool) if inner is None else inner(entries, rules)
            places = zip(position[entries[firing]].tolist(), rules[firing].tolist(), strict=True)
            self.seen.extend(places)
            return firing

        return fires


def check_name(known: Any, name: object, what: str) -> None:
    """Refuse a name that is not known."""
    if not isinstance(name, str) or name not in known:
        raise ProgramError(f"there is no {what} {name!r}; {nearest(name, known)}")


def _column(program: Program, name: str, values: Sequence[Value | None]) -> NDArray[Any]:
    is_number = isinstance(program.specs[name], Numerical)
    codes = [_code(program, name, value) for value in values]
    return np.asarray(codes, dtype=np.float64 if is_number else np.int64)


def _code(program: Program, name: str, value: Value | None) -> float:
    spec = program.specs[name]
    if isinstance(spec, Numerical):
        return np.nan if value is None else float(value)  # type: ignore[arg-type]
    return -1 if value is None else spec.code(value)
