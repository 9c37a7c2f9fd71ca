"""What could be read from a network that goes through a program's traces: every value as a code."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from espalier.errors import DataError
from espalier.interpreter import Column, Machine, State
from espalier.language import Numerical, Program, Variable
from espalier.learnability.assignments import training_set

UNKNOWN = -1  # no target: null, padding, or a layer that the program did not take


@dataclass(frozen=True, eq=False)
class Readings:
    """What classifiers should read: for each variable, its place among all classes and codes."""

    tokens: Int[Tensor, "M N"]
    lengths: Int[Tensor, " M"]
    codes: dict[str, Int[Tensor, "M L N"]]
    places: dict[str, slice]
    heads: frozenset[str]

    @property
    def digest(self) -> str:
        """SHA-256 over inputs and values."""
        whole = hashlib.sha256(self.tokens.numpy().tobytes())
        for tensor in self.codes.values():
            whole.update(tensor.numpy().tobytes())
        return whole.hexdigest()

    def to(self, device: torch.device) -> Readings:
        """The same on a device."""
        codes = {name: tensor.to(device) for name, tensor in self.codes.items()}
        tokens, lengths = self.tokens.to(device), self.lengths.to(device)
        return Readings(tokens, lengths, codes, self.places, self.heads)

    @property
    def layers(self) -> int:
        """The most layers that any input takes."""
        return next(iter(self.codes.values())).shape[1]


def readings(
    program: Program, inputs: Iterable[Iterable[object]], *, max_layers: int | None = None
) -> Readings:
    """The value of every variable at every position and layer of every input."""
    sequences, max_layers = training_set(program, inputs, max_layers)
    seen: list[tuple[State, State]] = []
    machine = Machine(program)
    machine.run(
        machine.start(sequences),
        max_layers=max_layers,
        observe=lambda attended, after: seen.append((attended, after)),
    )
    if not seen:
        raise DataError(
            "there is nothing to read: the program takes no layer; run it for one at least"
        )
    width = max(map(len, sequences))
    shape = (len(sequences), len(seen), width)
    codes = {name: np.full(shape, UNKNOWN, dtype=np.int64) for name in program.specs}
    for layer, (attended, after) in enumerate(seen):
        rows, places = after.batch.inputs[after.batch.example], after.batch.position
        for name, spec in program.specs.items():
            side = attended if name in program.heads else after
            found = _codes(spec, side.columns[name])
            codes[name][rows, layer, places] = found
    tokens = np.zeros((len(sequences), width), dtype=np.int64)
    for row, sequence in zip(tokens, sequences, strict=True):
        row[: len(sequence)] = sequence
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    tensors = {name: torch.from_numpy(found) for name, found in codes.items()}
    return Readings(
        torch.from_numpy(tokens), lengths, tensors, class_places(program), frozenset(program.heads)
    )


def class_places(program: Program) -> dict[str, slice]:
    """Where each variable's classes are among the classifiers' outputs."""
    places, start = {}, 0
    for name, spec in program.specs.items():
        places[name] = slice(start, start + len(spec.values))
        start += len(spec.values)
    return places


def _codes(spec: Variable, column: Column) -> np.ndarray:
    if not isinstance(spec, Numerical):
        return column.astype(np.int64)
    buckets = np.searchsorted(np.asarray(spec.boundaries), column, side="left")
    return np.where(np.isnan(column), UNKNOWN, buckets)
