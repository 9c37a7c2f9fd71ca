"""The interpreter stepped along with the weights under the same interventions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from espalier.compiler import CompiledModel, Intervener
from espalier.interpreter import IntervenedMachine, State
from espalier.shapes import Residual, Valid

# Compares a state with the stream at the same entries, after the sub-layer of that name.
Compare = Callable[[State, Tensor, str], None]


class Lockstep(Intervener):
    """Carries out a plan on both machines, and compares them after every sub-layer."""

    def __init__(
        self,
        model: CompiledModel,
        machine: IntervenedMachine,
        sequences: Mapping[int, Sequence[int]],
        compare: Compare,
    ) -> None:
        super().__init__(model.layout, model.encoder, machine.plan, list(sequences))
        self._machine, self._compare = machine, compare
        self._state = machine.start(list(sequences.values()), np.asarray(self.numbers))

    def embedded(self, z: Residual, valid: Valid) -> Residual:
        """The stream at the start, compared."""
        return self._compared(super().embedded(z, valid), "embedding")

    def attended(self, layer: int, z: Residual, running: Tensor, resting: Valid) -> Residual:
        """The stream after attention, compared."""
        self._state = self._machine.attend(self._state)
        return self._compared(super().attended(layer, z, running, resting), "attention")

    def updated(self, layer: int, z: Residual, running: Tensor, resting: Valid) -> Residual:
        """The stream after the MLP, compared."""
        self._state = self._machine.update(self._state)
        z = self._compared(super().updated(layer, z, running, resting), "mlp")
        self._state = self._state.keep(~self._machine.halted(self._state))
        return z

    def _compared(self, z: Residual, sublayer: str) -> Residual:
        batch = self._state.batch
        if len(batch):
            rows = torch.from_numpy(self._row[batch.inputs][batch.example])
            self._compare(self._state, z[rows, torch.from_numpy(batch.position)], sublayer)
        return z
