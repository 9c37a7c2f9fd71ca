"""Writing under interventions: every token is computed from the whole text, without a cache.

A position that has halted is not computed again by the decoders that cache keys and values, but an
intervention may change it in a later layer, which later text may reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from espalier.errors import ProgramError
from espalier.interpreter import IntervenedMachine, State
from espalier.interventions import Intervention, Plan, make_plan
from espalier.language import Generation, Program, Run, Written

if TYPE_CHECKING:
    from espalier.compiler import CompiledModel

Lists = Sequence[tuple[Intervention, ...]]


class ChangedDecoder:
    """A machine that answers for texts that grow, each under its own interventions."""

    def __init__(
        self, machine: Program | CompiledModel, lists: Lists, *, max_layers: int | None
    ) -> None:
        self._machine, self._max_layers = machine, max_layers
        self._program = machine if isinstance(machine, Program) else machine.program
        self._lists = list(lists)
        self._texts: list[list[int]] = [[] for _ in lists]
        self._rows = np.arange(len(lists))
        self._touched = [np.zeros(len(some), dtype=bool) for some in lists]
        self._layers = np.zeros(len(lists), dtype=np.int64)

    def extend(self, tokens: Sequence[Sequence[int]]) -> list[Written]:
        """The answer of each row's last position after these tokens more, at least one per row."""
        for row, new in zip(self._rows, tokens, strict=True):
            self._texts[row].extend(new)
        texts = [self._texts[row] for row in self._rows]
        lists = [self._lists[row] for row in self._rows]
        plan = make_plan(self._program, lists, [len(text) for text in texts], checked=False)
        runs, layers, touched = self._run(texts, plan)
        for (place, number), was in zip(plan.owners, touched, strict=True):
            self._touched[self._rows[place]][number] |= was
        ran = np.asarray([runs[place].layers for place in range(len(texts))])
        self._layers[self._rows] = np.maximum(self._layers[self._rows], ran)
        answers = [runs[place].outputs[-1] for place in range(len(texts))]
        for row, answer in zip(self._rows, answers, strict=True):
            if answer is None:
                raise ProgramError(
                    f"input {row}: the output at position {len(self._texts[row]) - 1} is null "
                    "under these interventions, and null is no token to continue with"
                )
        return [Written(int(o), int(n)) for o, n in zip(answers, layers, strict=True)]

    def keep(self, rows: NDArray[np.bool_]) -> None:
        """Continue with some of the rows only."""
        self._rows = self._rows[rows]

    def finished(self, found: Sequence[Generation]) -> list[Generation]:
        """What was written, with the interventions that touched nothing, if all were reached."""
        lengths = [len(text) for text in self._texts]
        plan = make_plan(self._program, self._lists, lengths, max_layers=self._max_layers)
        plan.refuse_unreached(self._layers)
        return [
            replace(one, idle=tuple(c for c, was in zip(some, touched, strict=True) if not was))
            for one, some, touched in zip(found, self._lists, self._touched, strict=True)
        ]

    def _run(
        self, texts: list[list[int]], plan: Plan
    ) -> tuple[dict[int, Run], NDArray[np.int64], NDArray[np.bool_]]:
        """The runs, the layers that each last position takes, and what was touched."""
        layers = np.zeros(len(texts), dtype=np.int64)
        if not isinstance(self._machine, Program):
            from espalier.compiler import LastPositions, probed_runs

            network = self._machine.layout, self._machine.encoder
            probe = LastPositions(*network, plan, range(len(texts)))
            runs = probed_runs(probe, texts, max_layers=self._max_layers)
            return runs, probe.layers, probe.touched
        machine = IntervenedMachine(plan)

        def observe(attended: State, _: Any) -> None:
            assert attended.resting is not None
            last = np.cumsum(attended.batch.lengths) - 1
            layers[attended.batch.inputs] += ~attended.resting[last]

        runs = machine.run(machine.start(texts), max_layers=self._max_layers, observe=observe)
        return runs, layers, machine.touched
