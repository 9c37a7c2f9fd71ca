"""Two interventions at once: whether their effects add up."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from espalier.errors import ProgramError
from espalier.interpreter.batch import Batch, State
from espalier.interpreter.explain.changes import Floats, in_range
from espalier.interpreter.explain.moments import moment_of
from espalier.interpreter.explain.replay import from_code
from espalier.interpreter.explain.sweep import CELLS, Question
from espalier.interventions import Node
from espalier.language import Numerical, Value


@dataclass(frozen=True)
class Interaction:
    """Outcomes of setting one node to `one`, another to `other`, and both: they do not add up.

    >>> found = Interaction(one=1, other=1, outcome_one=0, outcome_other=0, outcome_both=1)
    >>> found.outcome_both
    1
    """

    one: Value | None
    other: Value | None
    outcome_one: Value | None
    outcome_other: Value | None
    outcome_both: Value | None


def find_interaction(question: Question, one: Node, other: Node) -> Interaction | None:
    """The first pair of values whose effects do not add up."""
    if one == other:
        raise ProgramError(f"{tuple(one)} is given twice; two values interact, not one with itself")
    replay, specs = question.replay, question.replay.program.specs
    ranges = [in_range(replay, node) for node in (one, other)]
    grid = np.stack(np.meshgrid(*ranges, indexing="ij"), axis=-1).reshape(-1, 2)
    both = joint_outcomes(question, (one, other), grid)
    first, second = (
        joint_outcomes(question, (node,), values[:, None])
        for node, values in zip((one, other), ranges, strict=True)
    )
    spec = specs[question.target.variable]
    is_real = isinstance(spec, Numerical)
    pairs = np.repeat(first, len(ranges[1])), np.tile(second, len(ranges[0]))
    wrong = ~_adds_up(question.before, *pairs, both, is_real=is_real)
    if not wrong.any():
        return None
    at = int(np.flatnonzero(wrong)[0])
    results = (from_code(spec, float(part[at])) for part in (*pairs, both))
    named = zip((one, other), grid[at], strict=True)
    return Interaction(*(from_code(specs[n.variable], float(x)) for n, x in named), *results)


def _adds_up(y: Floats, y_a: Floats, y_b: Floats, y_ab: Floats, *, is_real: bool) -> np.ndarray:
    """Whether e(y_ab) + e(y) = e(y_a) + e(y_b)."""
    if is_real:
        y, y_a, y_b, y_ab = (np.nan_to_num(part) for part in (y, y_a, y_b, y_ab))
        return np.isclose(y_ab + y, y_a + y_b, rtol=1e-12, atol=1e-12)
    # Two sums of one-hot vectors, null being 0, are equal if they have the same summands.
    left, right = np.stack(np.broadcast_arrays(y_ab, y)), np.stack([y_a, y_b])
    return np.asarray((np.sort(left, axis=0) == np.sort(right, axis=0)).all(0))


def joint_outcomes(question: Question, nodes: tuple[Node, ...], values: Floats) -> Floats:
    """What the explained value becomes where each row of `values` is set at the nodes."""
    replay = question.replay
    most = max(1, CELLS // (replay.length * len(replay.names)))
    parts = [values[start : start + most] for start in range(0, len(values), most)]
    return np.concatenate([np.zeros(0), *(_run(question, nodes, part) for part in parts)])


def _run(question: Question, nodes: tuple[Node, ...], values: Floats) -> Floats:
    replay, target, rows = question.replay, question.target, len(values)
    machine, moment = replay.machine, min(map(moment_of, nodes)) // 2 * 2
    columns = {name: np.tile(column[moment], rows) for name, column in replay.columns.items()}
    state = State(Batch.of(np.full(rows, replay.length)), moment // 2, columns)
    found = np.zeros(rows)

    def set_at(state: State, moment: int) -> State:
        columns = dict(state.columns)
        for node, column in zip(nodes, values[state.batch.inputs].T, strict=True):
            if moment_of(node) == moment:
                columns[node.variable] = columns[node.variable].copy()
                columns[node.variable][node.position :: replay.length] = column
        return replace(state, columns=columns)

    state = set_at(state, moment)
    middle = {
        name: np.tile(column[max(0, moment - 1)], rows) for name, column in replay.columns.items()
    }
    attended = replace(state, columns=middle)
    while True:
        shown = attended if target.sublayer == "attention" else state
        found[state.batch.inputs] = shown.columns[target.variable][target.position :: replay.length]
        done = machine.halted(state) if state.layer else np.zeros(rows, dtype=bool)
        state = state.keep(~done)
        if not len(state.batch) or state.layer == question.last:
            return found
        attended = set_at(machine.attend(state), 2 * state.layer + 1)
        state = set_at(machine.update(attended), 2 * attended.layer)
