"""Single interventions by the thousand, as arrays: every other value that a node could hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from espalier.interpreter.batch import NULL, Column, Ints, Mask
from espalier.interpreter.explain.moments import moment_of
from espalier.interpreter.explain.replay import Masks, Replay
from espalier.interventions import Node
from espalier.language import Numerical

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Changes:
    """Single interventions in order of their moments: what is set where, to which code or real."""

    moments: Ints
    variables: Ints  # by their place among the replay's names
    positions: Ints
    values: Floats

    def __len__(self) -> int:
        return len(self.moments)


def other_values(replay: Replay, nodes: Masks) -> Changes:
    """Every other value in range of every node, in order of their moments."""
    parts = []
    for place, name in enumerate(replay.names):
        moments, positions = np.nonzero(nodes[:, place])
        now, values = replay.columns[name][moments, positions], _all_values(replay, name)
        node, which = np.nonzero(~same(now[:, None].astype(np.float64), values))
        parts.append((moments[node], np.full(len(node), place), positions[node], values[which]))
    joined = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
    order = np.argsort(joined[0], kind="stable")
    return Changes(*(array[order] for array in joined))


def in_range(replay: Replay, node: Node) -> Floats:
    """Every other value in range of one node."""
    values = _all_values(replay, node.variable)
    now = float(replay.columns[node.variable][moment_of(node), node.position])
    return values[~same(values, np.asarray(now))]


def _all_values(replay: Replay, name: str) -> Floats:
    """Declared values as codes or reals, and null for heads' outputs."""
    spec = replay.program.specs[name]
    is_real = isinstance(spec, Numerical)
    values = np.asarray(spec.values if is_real else range(len(spec.values)), dtype=np.float64)
    if name not in replay.program.heads:
        return values
    return np.append(values, np.nan if is_real else NULL)


def same(one: Column | Mask, other: Column | Mask) -> Mask:
    """Where two columns agree, null with null."""
    return np.asarray((one == other) | ((one != one) & (other != other)))


def distinct(key: Ints, columns: Sequence[Column | Mask]) -> tuple[Ints, Ints]:
    """Which entries differ from all before them, and for each entry the number of its equal there.

    Equal entries have equal keys; different entries whose keys are equal are found by comparison.
    """
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    stands = first[group]
    merged = np.flatnonzero(stands != np.arange(len(key)))
    equal = np.ones(len(merged), dtype=bool)
    for column in columns:
        agree = same(column[merged], column[stands[merged]])
        equal &= agree if agree.ndim == 1 else agree.all(1)
    stands[merged[~equal]] = merged[~equal]
    kept = np.flatnonzero(stands == np.arange(len(key)))
    return kept, np.searchsorted(kept, stands)
