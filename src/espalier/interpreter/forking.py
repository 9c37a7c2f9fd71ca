"""Many runs of few inputs under interventions: what they share is computed once.

Each different input runs once without interventions, as the plain run. A run leaves it at the layer
that its first intervention names. From there on rules are looked up only where a position differs,
and a run that equals the plain one again, with no intervention left, ends as that one does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from espalier.errors import ProgramError
from espalier.interpreter.batch import Batch, Ints, Mask, State
from espalier.interpreter.interventions import IntervenedMachine, ranges
from espalier.interpreter.machine import WATCH_FROM
from espalier.interpreter.refusals import differ
from espalier.language import Run

# Positions of runs that are worked on at a time.
CHUNK = 1 << 17


def run_forked(
    machine: IntervenedMachine, sequences: Sequence[tuple[int, ...]], max_layers: int | None
) -> dict[int, Run]:
    """The run of every input under the machine's plan."""
    runs: dict[int, Run] = {}
    for numbers in _chunks(sequences):
        runs |= _Forks(machine, {n: sequences[n] for n in numbers}, len(sequences)).run(max_layers)
    return runs


def _chunks(sequences: Sequence[tuple[int, ...]]) -> Iterator[list[int]]:
    """Numbers of inputs, the same ones together."""
    chunk, size = [], 0
    for number in sorted(range(len(sequences)), key=lambda n: (len(sequences[n]), sequences[n])):
        chunk.append(number)
        size += len(sequences[number])
        if size >= CHUNK:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


class _Forks:
    """The runs of a chunk. Plain ones, numbered from `first` on, come before those that leave."""

    def __init__(
        self, machine: IntervenedMachine, sequences: dict[int, tuple[int, ...]], first: int
    ) -> None:
        self._machine, self._sequences, self._first = machine, sequences, first
        self._plain = list(dict.fromkeys(sequences.values()))
        place = {tokens: first + number for number, tokens in enumerate(self._plain)}
        self._origin = {number: place[tokens] for number, tokens in sequences.items()}
        begin, self._end = machine.plan.spans()
        self._waiting: dict[int, list[int]] = defaultdict(list)
        for number in sequences:
            self._waiting[int(begin[number])].append(number)

    def run(self, max_layers: int | None) -> dict[int, Run]:
        """The run of every input of the chunk."""
        try:
            runs = self._run(max_layers)
        except ProgramError:  # which names a plain run: the machine itself knows its inputs
            runs = None
        if runs is not None:
            return runs
        numbers = np.asarray(list(self._sequences))
        first = self._machine.start(list(self._sequences.values()), numbers)
        return self._machine.run(first, max_layers=max_layers)

    def _run(self, max_layers: int | None) -> dict[int, Run] | None:
        """The same; None where it takes so long that it may have no end."""
        machine, runs = self._machine, dict[int, Run]()
        state = machine.start(self._plain, self._first + np.arange(len(self._plain)))
        state = machine.write(self._fork(state, 0), "mlp")
        while state.layer != max_layers and any(n not in runs for n in self._origin):
            state, joined = self._update(machine.attend(self._fork(state, state.layer + 1)))
            done = machine.halted(state)
            runs |= machine.collect(state.keep(done), halted=True)
            state = state.keep(~done & ~joined)
            if not len(state.batch):
                break
            if max_layers is None and state.layer >= WATCH_FROM:
                return None
        runs |= machine.collect(state, halted=False)
        return {n: runs[n] if n in runs else runs[plain] for n, plain in self._origin.items()}

    def _fork(self, state: State, layer: int) -> State:
        """The state with the runs that leave theirs for `layer`."""
        rows = {number: row for row, number in enumerate(state.batch.inputs.tolist())}
        new = [n for n in self._waiting.pop(layer, ()) if self._origin[n] in rows]
        if not new:
            return state
        batch, chosen = state.batch, np.asarray([rows[self._origin[n]] for n in new])
        entries = _entries(batch, chosen)
        columns = {name: np.concatenate([c, c[entries]]) for name, c in state.columns.items()}
        lengths = np.concatenate([batch.lengths, batch.lengths[chosen]])
        inputs = np.concatenate([batch.inputs, np.asarray(new)])
        return replace(state, batch=Batch.of(lengths, inputs), columns=columns)

    def _update(self, state: State) -> tuple[State, Mask]:
        """The state after the MLP, and which runs equal the plain ones from now on."""
        machine, batch = self._machine, state.batch
        rows = {number: row for row, number in enumerate(batch.inputs.tolist())}
        plain = np.asarray([rows.get(self._origin.get(n, -1), -1) for n in batch.inputs.tolist()])
        left = plain[batch.example] >= 0
        origin = np.zeros(len(left), dtype=np.int64)
        origin[left] = _entries(batch, plain[plain >= 0])
        same = left.copy()
        for column in state.columns.values():
            same[left] &= ~differ(column[left], column[origin[left]])
        ended = np.asarray([self._end[n] if n < self._first else 0 for n in batch.inputs.tolist()])
        joined = batch.every(same) & (ended < state.layer)
        if machine.plan.knocked_at(state.layer) is not None or not same.any():
            return machine.update(state), joined
        part = machine.apply_rules(state.take(~same))
        columns = {name: column.copy() for name, column in state.columns.items()}
        for name, column in columns.items():
            column[~same] = part.columns[name]
            column[same] = column[origin[same]]
        return machine.write(replace(state, columns=columns, resting=None), "mlp"), joined


def _entries(batch: Batch, rows: Ints) -> Ints:
    """The entries of these sequences, one after another."""
    return ranges((np.cumsum(batch.lengths) - batch.lengths)[rows], batch.lengths[rows])
