"""Between the states of the reference and the columns of the fast machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from espalier.interpreter.batch import NULL, Batch, State
from espalier.language import Numerical, Program
from reference import States


def decode(program: Program, state: State) -> dict[int, States]:
    """By input number, what every variable is at every position."""
    numbers = [int(state.batch.inputs[example]) for example in state.batch.example]
    decoded: dict[int, States] = {}
    for entry, number in enumerate(numbers):
        here = {
            name: _value(program.specs[name], column[entry])
            for name, column in state.columns.items()
        }
        decoded.setdefault(number, []).append(here)
    return decoded


def _value(spec, found):
    if isinstance(spec, Numerical):
        return None if math.isnan(found) else float(found)
    return None if found == NULL else spec.values[int(found)]


def encode(program: Program, sequences: Sequence[States], layer: int = 0) -> State:
    """The columns of these sequences."""
    entries = [here for states in sequences for here in states]
    columns = {
        name: np.array([_code(spec, here[name]) for here in entries])
        for name, spec in program.specs.items()
    }
    return State(Batch.of([len(states) for states in sequences]), layer, columns)


def _code(spec, value):
    if isinstance(spec, Numerical):
        return math.nan if value is None else float(value)
    return NULL if value is None else spec.values.index(value)


def rounded(states: States) -> States:
    """Exact numbers as the nearest float, to compare with a machine that has no others."""
    return [
        {name: float(v) if isinstance(v, Fraction) else v for name, v in here.items()}
        for here in states
    ]
