"""What a program's traces teach the MLP: distinct vectors, and what it makes of them.

Variable assignments on both sides of every MLP sub-layer, of every position, layer and input, are
mapped to vectors as the compiler lays them out (the paper's C.1). The same pair comes up again and
again; each is kept once, with how often it came.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from espalier.compiler import CompiledModel
from espalier.compiler.encoding import encode
from espalier.errors import DataError
from espalier.interpreter.batch import Column, State
from espalier.interpreter.machine import Machine
from espalier.language import Program
from espalier.language.batches import chunks
from espalier.language.program import check_batch, check_layers
from espalier.nets.feedforward import Expansion
from espalier.nets.mlp import see

_NULL_NUMBER = -1e300  # in place of NaN, which equals nothing


@dataclass(frozen=True, eq=False)
class Lessons:
    """Distinct pairs: `before` is the stream and its expansion, `after` the stream."""

    before: Float[Tensor, "P I"]
    after: Float[Tensor, "P D"]
    counts: Int[Tensor, " P"]

    def __len__(self) -> int:
        return len(self.counts)


def lessons(
    model: CompiledModel, inputs: Iterable[Iterable[object]], *, max_layers: int | None = None
) -> Lessons:
    """Every distinct pair that the model's program goes through on `inputs`."""
    program = model.program
    max_layers = check_layers(program, max_layers)
    sequences = check_batch(program, inputs)
    if not sequences:
        raise DataError("traces need at least one input; found none")
    seen = _Seen(program)
    machine = Machine(program)
    for numbers in chunks(sequences):
        first = machine.start([sequences[n] for n in numbers], np.asarray(numbers))
        machine.run(first, max_layers=max_layers, observe=seen.observe)
    before, after, counts = seen.distinct()
    features = model.weights.feedforward.expansion
    stream = encode(model.layout, before)
    expansion = None if features is None else Expansion(features)
    return Lessons(see(stream, expansion), encode(model.layout, after), torch.from_numpy(counts))


class _Seen:
    """Rows of codes on both sides of the MLP, each distinct one once."""

    def __init__(self, program: Program) -> None:
        self.names = list(program.specs)
        self.rows = np.empty((0, 2 * len(self.names)))
        self.counts = np.empty(0, dtype=np.int64)

    def observe(self, attended: State, after: State) -> None:
        sides = [side.columns[name] for side in (attended, after) for name in self.names]
        new = np.stack([np.nan_to_num(side.astype(float), nan=_NULL_NUMBER) for side in sides], 1)
        rows = np.concatenate([self.rows, new])
        weights = np.concatenate([self.counts, np.ones(len(new), dtype=np.int64)])
        self.rows, places = np.unique(rows, axis=0, return_inverse=True)
        self.counts = np.zeros(len(self.rows), dtype=np.int64)
        np.add.at(self.counts, places.ravel(), weights)

    def distinct(self) -> tuple[dict[str, Column], dict[str, Column], np.ndarray]:
        columns = np.where(self.rows == _NULL_NUMBER, np.nan, self.rows)
        before, after = np.split(columns, 2, axis=1)
        named = [dict(zip(self.names, side.T, strict=True)) for side in (before, after)]
        return named[0], named[1], self.counts
