"""A causal program run on a batch that grows: every position is computed once and cached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from espalier.interpreter import refusals
from espalier.interpreter.batch import Ints, Mask, State
from espalier.interpreter.machine import WATCH_FROM, Machine
from espalier.interpreter.past import Past
from espalier.language import Program, Written

# Room for this many positions is made at first; when it is full it is doubled.
ROOM = 64


class SymbolDecoder:
    """The interpreter, continuing from where it stopped.

    Layer k + 1 of a new position sees earlier ones as they were after k layers: `_pasts[k]`. A
    position that has halted is the same in all deeper ones.
    """

    def __init__(
        self,
        program: Program,
        inputs: Sequence[int],
        *,
        max_layers: int | None = None,
        strict: bool = True,
    ) -> None:
        self._machine, self._max_layers = Machine(program, strict=strict), max_layers
        self._inputs: Ints = np.asarray(inputs, dtype=np.int64)  # a row each, by its number
        self._ends: Ints = np.zeros_like(self._inputs)
        self._pasts: list[Past] = []
        self._room = ROOM

    def extend(self, tokens: Sequence[Sequence[int]]) -> list[Written]:
        """The answer of each row's last position after these tokens more, at least one per row."""
        state = self._machine.start(tokens, self._inputs, self._ends)
        self._make_room(int(state.batch.ends.max(initial=0)))
        # From there on only the new positions change, so a state determines the next one.
        watch_from, watched = max(WATCH_FROM, len(self._pasts)), state
        last = np.cumsum(state.batch.lengths) - 1
        layers = np.zeros(len(last), dtype=np.int64)
        while state.layer != self._max_layers:
            past = self._past(state.layer)
            layers += ~self._machine.resting(state)[last]
            after = self._machine.update(self._machine.attend(replace(state, past=past)))
            past.store(state)
            state = replace(after, past=None)
            if self._machine.halted(state).all():
                break
            if self._max_layers is None and state.layer >= watch_from:
                if watched.layer:
                    refusals.refuse_endless(self._machine.program, state, watched)
                if not watched.layer or state.layer & (state.layer - 1) == 0:
                    watched = state
        for past in self._pasts[state.layer :]:
            past.store(state)
        self._ends = state.batch.ends
        return self._written(state, last, layers)

    def keep(self, rows: Mask) -> None:
        """Continue with some of the rows only."""
        self._ends, self._inputs = self._ends[rows], self._inputs[rows]
        self._pasts = [past.keep(rows) for past in self._pasts]

    def _past(self, layer: int) -> Past:
        if layer == len(self._pasts):
            # No position has reached this layer before: all earlier ones had halted.
            fresh = Past.empty(self._machine.program, len(self._ends), self._room)
            self._pasts.append(self._pasts[-1].copy() if self._pasts else fresh)
        return self._pasts[layer]

    def _make_room(self, positions: int) -> None:
        if positions > self._room:
            self._room = max(positions, 2 * self._room)
            self._pasts = [past.widened(self._room) for past in self._pasts]

    def _written(self, state: State, last: Ints, layers: Ints) -> list[Written]:
        outputs = state.columns[self._machine.program.output_name][last]
        return [Written(int(o), int(n)) for o, n in zip(outputs, layers, strict=True)]
