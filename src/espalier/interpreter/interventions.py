"""The interpreter under interventions: what `Machine` does, changed where a plan says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from espalier.interpreter import refusals
from espalier.interpreter.attention import Edges, selects
from espalier.interpreter.batch import Batch, Column, Ints, Mask, State
from espalier.interpreter.machine import Machine, null_column
from espalier.interpreter.tables import Fires
from espalier.interventions import Plan, Rows, Sublayer
from espalier.language import Run


class IntervenedMachine(Machine):
    """Runs one program under a plan, whose inputs are numbered as the batch's.

    A rule that reads null does not hold. `touched` says which interventions made a difference.
    """

    def __init__(self, plan: Plan, *, needs_rules: bool = False) -> None:
        needs_rules |= bool(plan.knocked)
        super().__init__(plan.program, strict=False, record_rules=needs_rules)
        self.plan, self.touched = plan, np.zeros(len(plan.owners), dtype=bool)
        self._silenced: tuple[Rows, Ints, Ints] | None = None  # sorted by what `fires` looks up
        # The last state that rules were applied to, and the result; stored where comparing all
        # variables costs less than looking up all rules.
        self._last: tuple[State, State] | None = None
        self._compares = not needs_rules and self.tables >= len(plan.program.specs)

    def start(
        self,
        sequences: Sequence[Sequence[int]],
        inputs: Ints | None = None,
        starts: Ints | None = None,
    ) -> State:
        """The state before the first layer, changed by what is set there."""
        self._last = None
        return self.write(super().start(sequences, inputs, starts), "mlp")

    def attend(self, state: State) -> State:
        """The state after the attention sub-layer and what is set there."""
        return self.write(super().attend(state), "attention")

    def update(self, state: State) -> State:
        """The state after the MLP sub-layer and what is set there."""
        after = self._apply_where_new(state)
        self._last = (state, after) if self._compares else None
        return self.write(after, "mlp")

    def _apply_where_new(self, state: State) -> State:
        """The result of `apply_rules`; entries that equal the last state reuse its result."""
        if self._last is None:
            return self.apply_rules(state)
        (before, result), batch = self._last, state.batch
        entries, same = entries_of(before.batch, batch.inputs[batch.example], batch.position)
        if state.resting is not None and before.resting is not None:
            same &= state.resting == before.resting[entries]
        for name, column in state.columns.items():
            same &= ~refusals.differ(column, before.columns[name][entries])
        part = self.apply_rules(state.take(~same))
        columns = {name: column[entries] for name, column in result.columns.items()}
        for name, column in columns.items():
            column[~same] = part.columns[name]
        return replace(state, columns=columns, resting=None)

    def apply_rules(self, state: State) -> State:
        """The state after the MLP sub-layer alone."""
        after, resting = super().update(state), state.resting
        if resting is not None and resting.any():
            # What was set of a head at a position that rests is null again like any head's output.
            for name in self.program.heads:
                after.columns[name][resting] = null_column(self.program.specs[name], 1)[0]
        return after

    def cuts(self, state: State) -> Mapping[str, Edges]:
        """By head, the edges that are cut in the layer after `state`."""
        found = {}
        for name, rows in self.plan.cuts_at(state.layer + 1).items():
            edges, owners = _edges(state.batch, rows)
            inside = self.in_reach(name, state.batch, edges) & ~self.resting(state)[edges.query]
            edges, owners = edges.take(inside), owners[inside]
            met = selects(self.program, self.program.heads[name], state, edges)
            self.touched[owners[met]] = True
            places = np.stack(edges, 1)
            found[name] = Edges(*np.unique(places, axis=0).T) if len(places) else edges
        return found

    def fires(self, state: State) -> Fires | None:
        """Whether rules fire: those that are not knocked out in this layer, input and position."""
        rows = self.plan.knocked_at(state.layer)
        if rows is None:
            return None
        batch, rules = state.batch, len(self.program.rules)
        if self._silenced is None or self._silenced[0] is not rows:
            known = _keys(rows.input, rows.position, rows.what.astype(np.int64), rules)
            order = np.argsort(known, kind="stable")
            self._silenced = rows, known[order], rows.owner[order]
        _, known, owners = self._silenced

        def fires(entries: Ints, holding: Ints) -> Mask:
            inputs = batch.inputs[batch.example[entries]]
            keys = _keys(inputs, batch.position[entries], holding, rules)
            first, end = (np.searchsorted(known, keys, side) for side in ("left", "right"))
            met = np.flatnonzero(end > first)
            self.touched[owners[ranges(first[met], end[met] - first[met])]] = True
            return np.asarray(end == first)

        return fires

    def refuse_endless(self, state: State, watched: State) -> None:
        """Raise where a state came back after the last layer that an intervention names."""
        if watched.layer > self.plan.last:
            refusals.refuse_repeated(self.program, state, watched)

    def collect(self, state: State, *, halted: bool) -> dict[int, Run]:
        """The runs of sequences that end in this state; an output that is null is None."""
        runs = super().collect(state, halted=halted)
        if state.nullable:
            runs = {number: replace(run, outputs=_outputs(run)) for number, run in runs.items()}
        return runs

    def write(self, state: State, sublayer: Sublayer) -> State:
        """The state with what is set after this sub-layer of its layer."""
        batch, columns, nullable = state.batch, dict(state.columns), state.nullable

        def look(number: int, name: str, positions: Sequence[int]) -> Sequence[float]:
            asked = np.full(len(positions), number), np.asarray(positions, dtype=np.int64)
            entries, there = entries_of(batch, *asked)
            found: Sequence[float] = state.columns[name][entries[there]].tolist()
            return found

        running = set(batch.inputs.tolist()) if self.plan.means else set()
        for name, rows in self.plan.writes_at(state.layer, sublayer, look, running).items():
            entries, there = entries_of(batch, rows.input, rows.position)
            rows, entries = rows.take(there), entries[there]
            old: Column = columns[name]
            changed = refusals.differ(rows.found(entries, old[entries]), rows.what)
            self.touched[rows.owner[changed]] = True
            columns[name] = old.copy()
            columns[name][entries] = rows.what  # of several at one place the last counts
            nullable |= bool(refusals.is_null(columns[name][entries]).any())
        return replace(state, columns=columns, nullable=nullable)

    def in_reach(self, name: str, batch: Batch, edges: Edges) -> Mask:
        """Whether the relative positions and the causal mask allow these edges."""
        offsets = batch.position[edges.key] - batch.position[edges.query]
        allowed = self.program.heads[name].relative_positions
        inside = np.ones(len(offsets), dtype=bool)
        if allowed is not None:
            inside &= np.isin(offsets, list(allowed))
        return inside & (offsets <= 0) if self.program.causal else inside


def _outputs(run: Run) -> list[int]:
    return [None if output < 0 else output for output in run.outputs]  # type: ignore[misc]


def entries_of(batch: Batch, inputs: Ints, positions: Ints) -> tuple[Ints, Mask]:
    """The entry of each input's position, and whether the batch has it."""
    if not len(batch):
        return np.zeros_like(inputs), np.zeros(len(inputs), dtype=bool)
    order = np.argsort(batch.inputs)
    place = np.minimum(np.searchsorted(batch.inputs[order], inputs), len(order) - 1)
    rows = order[place]
    firsts = np.cumsum(batch.lengths) - batch.lengths
    there = (batch.inputs[rows] == inputs) & (positions >= 0) & (positions < batch.lengths[rows])
    return np.where(there, firsts[rows] + positions, 0), there


def _edges(batch: Batch, rows: Rows) -> tuple[Edges, Ints]:
    """The edges as entries, and the owner of each; a key of -1 becomes all keys of its input."""
    entries, there = entries_of(batch, rows.input, rows.position)
    rows, entries = rows.take(there), entries[there]
    every = rows.what < 0
    keys, known = entries_of(batch, rows.input[~every], rows.what[~every].astype(np.int64))
    example = batch.example[entries[every]]
    lengths = batch.lengths[example]
    firsts = (np.cumsum(batch.lengths) - batch.lengths)[example]
    query = np.concatenate([entries[~every][known], np.repeat(entries[every], lengths)])
    key = np.concatenate([keys[known], ranges(firsts, lengths)])
    owner = np.concatenate([rows.owner[~every][known], np.repeat(rows.owner[every], lengths)])
    return Edges(query, key), owner


def ranges(firsts: Ints, lengths: Ints) -> Ints:
    """The numbers from each first one on, one range after another."""
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.asarray(np.repeat(firsts, lengths) + within)


def _keys(inputs: Ints, positions: Ints, rules: Ints, count: int) -> Ints:
    """One number for each input, position and rule."""
    return (inputs * (1 << 21) + positions) * count + rules
