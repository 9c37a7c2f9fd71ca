"""The interpreter: a program run on symbols, many sequences at a time, each halting on its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from espalier.interpreter import refusals
from espalier.interpreter.attention import Edges, attend
from espalier.interpreter.batch import NULL, Batch, Column, Ints, Mask, State
from espalier.interpreter.decisions import Decisions
from espalier.interpreter.tables import UNDEFINED, Fires, RuleTable, Tables
from espalier.language import (
    ByInput,
    ByPosition,
    Constant,
    LazyRules,
    Numerical,
    Program,
    Run,
    Variable,
)

# A sequence that has run this long without halting is watched for a state that comes back.
WATCH_FROM = 1024

# Sees the state between attention and MLP, and the state after both, of every layer.
Observer = Callable[[State, State], None]


class Machine:
    """Runs one program.

    A strict machine raises where a rule reads an undefined variable; otherwise such a rule is
    simply not satisfied, which is what compiled weights do.
    """

    def __init__(
        self, program: Program, *, strict: bool = True, record_rules: bool = False
    ) -> None:
        self.program, self.strict = program, strict
        # Recording which rules hold needs the rules themselves.
        is_lazy = isinstance(program.rules, LazyRules) and not record_rules
        self._tables = program.derived(Tables.without_rules if is_lazy else Tables.of)
        self._decisions = program.derived(Decisions) if is_lazy else None
        # Which rules have held somewhere so far, by their number; None unless recorded.
        self.satisfied = np.zeros(len(program.rules), dtype=bool) if record_rules else None

    @property
    def tables(self) -> int:
        """How many tables are looked up at every position; as many as there are rules at most."""
        return sum(map(len, self._tables.rules.values()))

    def start(
        self,
        sequences: Sequence[Sequence[int]],
        inputs: Ints | None = None,
        starts: Ints | None = None,
    ) -> State:
        """The state before the first layer; `inputs` numbers the sequences.

        Sequences begin at position 0, or where `starts` says.
        """
        batch = Batch.of([len(sequence) for sequence in sequences], inputs, starts)
        tokens = np.concatenate([np.asarray(s, dtype=np.int64) for s in sequences])
        columns: dict[str, Column] = {}
        for name, initial in self.program.initial.items():
            match initial:
                case ByInput():
                    columns[name] = self._tables.initial[name][tokens]
                case ByPosition():
                    columns[name] = self._tables.initial[name][batch.position]
                case Constant():
                    columns[name] = self._tables.initial[name][np.zeros_like(tokens)]
        for name in self.program.heads:
            columns[name] = null_column(self.program.specs[name], len(tokens))
        return State(batch, 0, columns)

    def attend(self, state: State) -> State:
        """The state after the attention sub-layer."""
        stale = [name for name in self.program.heads if name not in self._tables.resets]
        refusals.refuse_stale(self.program, stale, state)
        attended, resting = attend(self.program, state, self.cuts(state)), self.resting(state)
        if resting.any():
            for name in self.program.heads:
                attended.columns[name][resting] = state.columns[name][resting]
        return replace(attended, resting=resting)

    def update(self, state: State) -> State:
        """The state after the MLP sub-layer: every rule that holds has been applied."""
        resting, state = state.resting, replace(state, resting=None)
        if resting is None or not resting.any():
            return self._update(state)
        return state.put(~resting, self._update(state.take(~resting)))

    def cuts(self, state: State) -> Mapping[str, Edges]:
        """By head, the edges that are not selected in the layer after `state`: none."""
        return {}

    def fires(self, state: State) -> Fires | None:
        """The function that says whether a rule that holds fires; None where every rule does."""
        return None if self.satisfied is None else self._mark

    def _mark(self, entries: Ints, rules: Ints) -> Mask:
        assert self.satisfied is not None
        self.satisfied[rules] = True
        return np.ones(len(entries), dtype=bool)

    def resting(self, state: State) -> Mask:
        """Where a position of a causal program has halted in one of the layers so far.

        There it stays as it is, so that it is the same however much text follows.
        """
        halt = self.program.halt
        if halt is None or not self.program.causal or state.layer < 1:
            return np.zeros(len(state.batch.example), dtype=bool)
        return np.asarray(state.columns[halt.variable] == halt.value)

    def _update(self, state: State) -> State:
        specs = self.program.specs
        codes = {name: codes_of(specs[name], column) for name, column in state.columns.items()}
        if self._decisions is not None:
            return self._update_by(self._decisions, state, codes)
        nullable = self.program.specs if state.nullable else self.program.heads
        nulls = {name: codes[name] < 0 for name in nullable}
        nulls = {name: mask for name, mask in nulls.items() if mask.any()}
        # Any code will do where a variable is null: what was found there does not count.
        codes |= {name: np.maximum(codes[name], 0) for name in nulls}
        columns = dict(state.columns)
        for output, tables in self._tables.rules.items():
            answer = self._answer(tables[0], state, codes, nulls)
            for table in tables[1:]:
                found = self._answer(table, state, codes, nulls)
                both = (answer > UNDEFINED) & (found > UNDEFINED)
                if both.any():
                    raise refusals.two_rules(self.program, output, state, both)
                answer = np.maximum(answer, found)
            columns[output] = _write(specs[output], columns[output], answer)
        for name, resets in self._tables.resets.items():
            if self.satisfied is not None:
                seen = codes[name] if name not in nulls else codes[name][~nulls[name]]
                self.satisfied[resets[seen]] = True
            columns[name] = null_column(specs[name], len(state.batch.example))
        return replace(state, columns=columns)

    def _update_by(self, decisions: Decisions, state: State, codes: dict[str, Ints]) -> State:
        """The same by calling the program's function instead of looking its rules up."""
        specs, columns = self.program.specs, dict(state.columns)
        answers, undecided = decisions.answers(state, codes)
        for output, answer in answers.items():
            columns[output] = _write(specs[output], columns[output], answer)
        for name in self.program.heads:
            columns[name] = null_column(specs[name], len(state.batch.example))
        after = replace(state, columns=columns)
        for path, entries in undecided.items():
            chosen = np.isin(np.arange(len(state.batch.example)), entries)
            by_rules = Machine(decisions.program_after(path), strict=self.strict)
            after = after.put(chosen, by_rules._update(state.take(chosen)))
        return after

    def _answer(
        self,
        table: RuleTable,
        state: State,
        codes: dict[str, Ints],
        nulls: dict[str, Mask],
    ) -> Ints:
        found = table.look_up(codes, nulls, self.fires(state), strict=self.strict)
        if self.strict and nulls and (found == UNDEFINED).any():
            raise refusals.undefined(self.program, table.variables, state, found)
        return found

    def run(
        self,
        state: State,
        *,
        max_layers: int | None = None,
        observe: Observer | None = None,
    ) -> dict[int, Run]:
        """The run of every sequence of a first state, by its input number."""
        runs: dict[int, Run] = {}
        watched = state
        while len(state.batch) and state.layer != max_layers:
            attended = self.attend(state)
            state = self.update(attended)
            if observe is not None:
                observe(attended, state)
            done = self.halted(state)
            runs |= self.collect(state.keep(done), halted=True)
            state, watched = state.keep(~done), watched.keep(~done)
            if max_layers is None and state.layer >= WATCH_FROM:
                self.refuse_endless(state, watched)
                watched = state if state.layer & (state.layer - 1) == 0 else watched
        return runs | self.collect(state, halted=False)

    def refuse_endless(self, state: State, watched: State) -> None:
        """Raise where a sequence will never halt, by what came back since `watched`."""
        refusals.refuse_endless(self.program, state, watched)

    def halted(self, state: State) -> Mask:
        """For each sequence, whether it is done."""
        halt = self.program.halt
        if halt is None:
            return np.zeros(len(state.batch), dtype=bool)
        return state.batch.every(state.columns[halt.variable] == halt.value)

    def collect(self, state: State, *, halted: bool) -> dict[int, Run]:
        """The runs of sequences that end in this state."""
        outputs = state.columns[self.program.output_name]
        parts = np.split(outputs, np.cumsum(state.batch.lengths)[:-1])
        return {
            int(number): Run(part.tolist(), state.layer, halted)
            for number, part in zip(state.batch.inputs, parts, strict=False)
        }


def null_column(spec: Variable, size: int) -> Column:
    """A column of nulls."""
    if isinstance(spec, Numerical):
        return np.full(size, np.nan, dtype=np.float64)
    return np.full(size, NULL, dtype=np.int64)


def codes_of(spec: Variable, column: Column) -> Ints:
    """What rules see: codes, -1 for null, and a number's bucket."""
    if not isinstance(spec, Numerical):
        return column.astype(np.int64, copy=False)
    buckets = np.searchsorted(np.asarray(spec.boundaries), column, side="left")
    return np.where(np.isnan(column), NULL, buckets)


def _write(spec: Variable, column: Column, answer: Ints) -> Column:
    """The column with every answer in place of the old value."""
    if not isinstance(spec, Numerical):
        return np.where(answer >= NULL, answer, column)
    values = np.asarray([*spec.values, np.nan])  # NULL is -1, the last
    return np.where(answer >= NULL, values[answer], column)
