"""What becomes of the explained value under every single intervention: all of them in one sweep.

Runs that differ by one value from the explained run soon become equal to it or to each other, and
equal states stay equal. So the sweep goes through the layers once, holds one row for each different
state, and records which row each intervention belongs to. An MLP works position by position: only
positions that differ from the explained run are computed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from espalier.interpreter.attention import head_output
from espalier.interpreter.batch import Batch, Column, Ints, Mask, State
from espalier.interpreter.explain.changes import Changes, Floats, distinct, same
from espalier.interpreter.explain.moments import moment_of
from espalier.interpreter.explain.replay import Replay
from espalier.interpreter.machine import null_column
from espalier.interventions import Node

# Cells (rows times positions times variables) that a sweep holds; the rest waits for the next.
CELLS = 1 << 24
OVER = -1  # the row of an intervention whose run has ended, or has not begun


@dataclass(frozen=True)
class Question:
    """Which value is asked for: after the target's layer, or at the end where `to_end`.

    A run that has not halted after `limit` layers is stopped there.
    """

    replay: Replay
    target: Node
    to_end: bool
    limit: int

    @property
    def before(self) -> Floats:
        """The value that is explained, as a code or a real."""
        node = self.target
        return self.replay.columns[node.variable][moment_of(node), node.position, None].astype(
            float
        )

    @property
    def last(self) -> int:
        """The last layer that any run goes through."""
        return self.limit if self.to_end else self.target.layer


def outcomes(question: Question, changes: Changes) -> Floats:
    """What the explained value becomes under each change alone, as a code or a real."""
    found, waiting = np.zeros(len(changes)), np.arange(len(changes))
    moments = _when_felt(question, changes)
    while len(waiting):
        sweep = _Sweep(question, changes, moments, waiting)
        waiting = sweep.run(found)
    return found


def _when_felt(question: Question, changes: Changes) -> Ints:
    """Moments of changes: after attention for what heads and halting do not read after an MLP.

    Until then nothing else differs, and after attention only one position's MLP is concerned.
    """
    program, names = question.replay.program, question.replay.names
    read = {name for head in program.heads.values() for name in (head.query, head.key, head.value)}
    read |= {program.halt.variable} if program.halt is not None else set()
    unread = np.asarray([name not in read for name in names])[changes.variables]
    waits = unread & (changes.moments % 2 == 0) & (changes.moments < 2 * question.target.layer - 1)
    return np.where(waits, changes.moments + 1, changes.moments)


class _Sweep:
    """One pass through the layers. Row 0 is the explained run, until that ends."""

    def __init__(self, question: Question, changes: Changes, moments: Ints, waiting: Ints) -> None:
        self.question, self.replay, self.changes = question, question.replay, changes
        self.machine = self.replay.machine
        self.waiting = waiting[np.argsort(moments[waiting], kind="stable")]
        self.moments = moments[self.waiting]
        self.later: list[Ints] = []  # changes that there was no room for
        self.rows = np.full(len(changes), OVER)
        names = list(self.replay.program.variables)  # outputs of heads are null between layers
        self.columns: dict[str, Column] = dict.fromkeys(names, np.zeros(0))  # (rows, positions)
        self.seen = np.zeros(0)  # what the explained head last reported, by row
        shape = (len(self.replay.names), self.replay.length)
        self.factors = np.random.default_rng(0).integers(1 << 62, size=shape)  # for hashing

    def run(self, found: Floats) -> Ints:
        """Write the outcomes; return the changes that there was no room for."""
        first, last = int(self.moments[0]) // 2, self.question.last
        halt = self.replay.program.halt
        base = {name: self.replay.columns[name][2 * first] for name in self.columns}
        self.columns = {name: column[None] for name, column in base.items()}
        self.seen = self._seen_before(2 * first - 1)
        for layer in range(first, last + 1):
            before = dict(self.columns)
            if layer > first:
                self._advance(layer)
            self._set_after_mlp(2 * layer)
            over = np.full(len(self.seen), layer == last)
            if halt is not None and layer > 0:
                over |= (self.columns[halt.variable] == halt.value).all(1)
            if layer > self.replay.layers:  # nothing is set any more: a state that repeats stays so
                over |= np.logical_and.reduce(
                    [(self.columns[name] == column).all(1) for name, column in before.items()]
                )
            self._end(over, found)
            if self.moments[-1] <= 2 * layer and not (self.rows > OVER).any():
                break
            self._merge()
        return np.concatenate([self.waiting[:0], *self.later])

    def _state(self, layer: int) -> State:
        """The rows as the machine knows them."""
        rows, length = len(self.seen), self.replay.length
        specs, heads = self.replay.program.specs, self.replay.program.heads
        nulls = {name: null_column(specs[name], rows * length) for name in heads}
        columns: dict[str, Column] = {n: c.reshape(-1) for n, c in self.columns.items()}
        return State(Batch.of(np.full(rows, length)), layer, columns | nulls)

    def _advance(self, layer: int) -> None:
        """Take all rows through a layer; set what is set between attention and MLP."""
        state, shape = self._state(layer - 1), (-1, self.replay.length)
        resting, has_base = self.machine.resting(state), layer <= self.replay.layers
        attended = self._attend(state) if has_base else self.machine.attend(state)
        if self._explains_head:
            head = attended.columns[self.question.target.variable].reshape(shape)
            self.seen = head[:, self.question.target.position].astype(np.float64)
        differs = np.full((len(self.seen), self.replay.length), not has_base)
        for name, column in attended.columns.items() if has_base else ():
            differs |= ~same(column.reshape(shape), self.replay.columns[name][2 * layer - 1])
        entries = differs.reshape(-1)
        after = self._mlp(attended.take(entries), resting[entries])
        for name in self.columns:
            column = np.tile(
                self.replay.columns[name][min(2 * layer, 2 * self.replay.layers)], len(self.seen)
            )
            column[entries] = after[name]
            self.columns[name] = column.reshape(shape)
        if has_base:
            self._set_after_attention(layer)

    def _attend(self, state: State) -> State:
        """After attention: a head is recomputed only in rows where what it reads has changed."""
        program, base = self.replay.program, self.replay.columns
        changed = {n: (c != base[n][2 * state.layer]).any(1) for n, c in self.columns.items()}
        columns, resting = dict(state.columns), self.machine.resting(state)
        # Where a position rested and no longer does, its heads must be computed.
        rest = [program.halt.variable] if program.halt is not None and program.causal else []
        for name, head in program.heads.items():
            read = [name for name in (head.query, head.key, head.value) if name is not None]
            rows = np.logical_or.reduce([changed[name] for name in [*read, *rest]])
            found = np.tile(base[name][2 * state.layer + 1], (len(rows), 1))
            if rows.any():
                batch = Batch.of(np.full(rows.sum(), self.replay.length))
                inputs = {name: self.columns[name][rows].reshape(-1) for name in read}
                asked = head_output(program, name, State(batch, state.layer, inputs))
                found[rows] = asked.reshape(-1, self.replay.length)
            columns[name] = found.reshape(-1)
            columns[name][resting] = null_column(program.specs[name], 1)
        return replace(state, layer=state.layer + 1, columns=columns)

    def _mlp(self, attended: State, resting: Mask) -> dict[str, Column]:
        """The columns after the MLP; equal entries are computed once."""
        key = resting.astype(np.int64)
        for factor, column in zip(self.factors[:, 0], attended.columns.values(), strict=True):
            key += column.view(np.int64) * factor
        first, stands = distinct(key, [resting, *attended.columns.values()])
        one = np.zeros(len(key), dtype=bool)
        one[first] = True
        after = self.machine.update(replace(attended.take(one), resting=resting[one]))
        return {name: after.columns[name][stands] for name in self.columns}

    def _set_after_attention(self, layer: int) -> None:
        """Changes after attention: each concerns the MLP of one position."""
        moment = 2 * layer - 1
        chosen = self._take(moment, CELLS // len(self.replay.names))
        if not len(chosen):
            return
        where, held = self.changes.positions[chosen], self.replay.columns
        columns = {name: column[moment, where] for name, column in held.items()}
        seen = np.repeat(self._seen_before(moment), len(chosen))
        for place in np.unique(self.changes.variables[chosen]).tolist():
            mine, name = self.changes.variables[chosen] == place, self.replay.names[place]
            columns[name][mine] = self.changes.values[chosen[mine]]
            if self._explains_head and name == self.question.target.variable:
                mine &= where == self.question.target.position
                seen[mine] = self.changes.values[chosen[mine]]
        batch = replace(Batch.of([0]), example=np.arange(len(where)), position=where)
        after = self._mlp(State(batch, layer, columns), self.replay.resting[layer][where])
        differs = ~same(seen, self._seen_before(moment))
        for name in self.columns:
            differs |= after[name] != held[name][moment + 1, where]
        self.rows[chosen[~differs]] = 0
        differ, room = np.flatnonzero(differs), self._room
        self.later.append(chosen[differ[room:]])
        differ = differ[:room]
        self._append(moment + 1, chosen[differ])
        rows = self.rows[chosen[differ]]
        for name in self.columns:
            self.columns[name][rows, where[differ]] = after[name][differ]
        self.seen[rows] = seen[differ]

    def _set_after_mlp(self, moment: int) -> None:
        chosen = self._take(moment, self._room)
        if not len(chosen):
            return
        self._append(moment, chosen)
        for place in np.unique(self.changes.variables[chosen]).tolist():
            mine = chosen[self.changes.variables[chosen] == place]
            column = self.columns[self.replay.names[place]]
            column[self.rows[mine], self.changes.positions[mine]] = self.changes.values[mine]

    @property
    def _room(self) -> int:
        """How many rows there is room for."""
        return max(1, CELLS // (len(self.columns) * self.replay.length) - len(self.seen))

    def _take(self, moment: int, most: int) -> Ints:
        """The first changes of a moment; others wait for another sweep."""
        low, high = np.searchsorted(self.moments, [moment, moment + 1])
        self.later.append(self.waiting[low:high][most:])
        return self.waiting[low:high][:most]

    def _append(self, moment: int, chosen: Ints) -> None:
        """A row for each of these changes, as the explained run was at a moment."""
        more = len(chosen)
        self.rows[chosen] = len(self.seen) + np.arange(more)
        for name, column in self.columns.items():
            new = np.broadcast_to(self.replay.columns[name][moment], (more, self.replay.length))
            self.columns[name] = np.concatenate([column, new])
        self.seen = np.concatenate([self.seen, np.repeat(self._seen_before(moment), more)])

    def _end(self, over: Mask, found: Floats) -> None:
        """Write down the outcome of rows that are over, and drop them."""
        target = self.question.target
        if self._explains_head:
            values = self.seen
        else:
            values = self.columns[target.variable][:, target.position].astype(np.float64)
        ending = np.flatnonzero((self.rows > OVER) & over[self.rows])
        found[ending] = values[self.rows[ending]]
        self.rows[ending] = OVER
        if over.any():
            self._renumber(np.where(over, OVER, np.cumsum(~over) - 1), ~over)

    def _merge(self) -> None:
        """Merge rows that are equal, since they stay equal."""
        if len(self.seen) < 2:
            return
        key = np.zeros(len(self.seen), dtype=np.int64)
        for factors, column in zip(self.factors, self.columns.values(), strict=False):
            key += column.view(np.int64) @ factors
        first, stands = distinct(key, list(self.columns.values()))
        if len(first) < len(key):
            self._renumber(stands, first)

    def _renumber(self, numbers: Ints, kept: Ints | Mask) -> None:
        alive = self.rows > OVER
        self.rows[alive] = numbers[self.rows[alive]]
        self.columns = {name: column[kept] for name, column in self.columns.items()}
        self.seen = self.seen[kept]

    @property
    def _explains_head(self) -> bool:
        return self.question.target.variable in self.replay.program.heads

    def _seen_before(self, moment: int) -> Floats:
        """What the explained head had reported at a moment, if it is a head."""
        target, moment = self.question.target, moment - (moment % 2 == 0)
        if not self._explains_head or moment < 1:
            return np.zeros(1)
        column = self.replay.columns[target.variable]
        return column[moment, target.position, None].astype(np.float64)
