"""What a program's traces teach the MLP: distinct input vectors and their outputs.

Variable assignments on both sides of every MLP sub-layer, of every position, layer and input, are
mapped to vectors as the compiler lays them out (the paper's C.1). Equal pairs are stored once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from torch import Tensor

from espalier.compiler import CompiledModel, encode
from espalier.errors import DataError
from espalier.interpreter import Column
from espalier.language import Program, program_hash
from espalier.learnability.assignments import (
    Distinct,
    Layer,
    exact_sizes,
    run_layers,
    training_set,
)
from espalier.learnability.traces import Traces
from espalier.nets.compiled import Expansion, see

_NULL_NUMBER = -1e300  # in place of NaN, which equals nothing


@dataclass(frozen=True, eq=False)
class Lessons:
    """Distinct pairs: `before` is the stream and its expansion, `after` the stream."""

    before: Float[Tensor, "P I"]
    after: Float[Tensor, "P D"]

    def __len__(self) -> int:
        return len(self.before)


def lessons(
    model: CompiledModel,
    inputs: Iterable[Iterable[object]] | Traces,
    *,
    max_layers: int | None = None,
) -> Lessons:
    """Every distinct pair that the model's program goes through on `inputs`, or that was recorded.

    Positions of a causal program that rest teach nothing: no sub-layer is applied to them.
    """
    seen = _Seen(model.program)
    if isinstance(inputs, Traces):
        _look_through(inputs, seen)
    else:
        sequences, max_layers = training_set(model.program, inputs, max_layers)
        run_layers(model.program, sequences, max_layers=max_layers, see=seen.observe)
    if not len(seen):
        raise DataError(
            "there is nothing to learn from: no MLP sub-layer is in the traces; "
            "run the program for one layer at least"
        )
    before, after = seen.sides()
    features = model.weights.feedforward.expansion
    stream = encode(model.layout, before)
    expansion = None if features is None else Expansion(features)
    return Lessons(see(stream, expansion), encode(model.layout, after))


def _look_through(traces: Traces, seen: _Seen) -> None:
    if program_hash(traces.program) != program_hash(seen.program):
        raise DataError(
            f"{traces} are of another program than the one to be trained; "
            f"record them from that one with record_traces"
        )
    for part in traces.parts():
        seen.add(part.states("before"), part.states("after"))


class _Seen:
    """Rows of codes on both sides of the MLP, each distinct one once.

    The output depends on the input alone, so rows are compared by their inputs.
    """

    def __init__(self, program: Program) -> None:
        self.program, self._names = program, list(program.specs)
        self._new = Distinct(exact_sizes(program))
        self._rows = [np.empty((0, 2 * len(self._names)))]

    def __len__(self) -> int:
        return sum(map(len, self._rows))

    def observe(self, layer: Layer) -> None:
        self.add(*(side.take(layer.awake).columns for side in (layer.attended, layer.updated)))

    def add(self, before: Mapping[str, Column], after: Mapping[str, Column]) -> None:
        new = self._new.fresh([before[name] for name in self._names])
        sides = [side[name][new] for side in (before, after) for name in self._names]
        self._rows.append(np.stack([side.astype(float) for side in sides], 1))

    def sides(self) -> tuple[dict[str, Column], dict[str, Column]]:
        """Before and after, in the order of their values, whatever order they were seen in."""
        found = np.nan_to_num(np.concatenate(self._rows), nan=_NULL_NUMBER)
        rows = np.unique(found, axis=0)
        columns = np.where(rows == _NULL_NUMBER, np.nan, rows)
        before, after = np.split(columns, 2, axis=1)
        named = [dict(zip(self._names, side.T, strict=True)) for side in (before, after)]
        return named[0], named[1]
