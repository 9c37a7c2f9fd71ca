"""Select and aggregate: what every head reports at every position (the paper's section 2.3).

Whichever way the selected positions are found, three sums over them decide the answer: how many
there are, the sum of their values and the sum of their squares. Values agree exactly when
count * squares = total**2, and a mean is total / count.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from espalier.interpreter.batch import NULL, Column, Mask, State
from espalier.interpreter.past import before
from espalier.language import Categorical, Head, Numerical, Program, SetValued

Floats = NDArray[np.float64]

# Cells of the selection matrix that are held at a time.
CELLS = 1 << 22


@dataclass(frozen=True)
class Sums:
    """Over the positions that each position selects: their number, sum and sum of squares."""

    count: Floats
    total: Floats
    squares: Floats


def attend(program: Program, state: State) -> State:
    """The state in the next layer's middle: every head has read the state as it was."""
    columns = dict(state.columns)
    for name in program.heads:
        columns[name] = head_output(program, name, state)
    return replace(state, layer=state.layer + 1, columns=columns)


def head_output(program: Program, name: str, state: State) -> Column:
    """What the head `name` reports at every entry, null where it is undefined."""
    head, spec = program.heads[name], program.specs[name]
    sums = select(program, head, state)
    defined = sums.count > 0
    if isinstance(spec, Numerical):
        return np.where(defined, sums.total / np.maximum(sums.count, 1), np.nan)
    agree = defined & (sums.count * sums.squares == sums.total**2)
    return np.where(agree, sums.total / np.maximum(sums.count, 1), NULL).astype(np.int64)


def select(program: Program, head: Head, state: State) -> Sums:
    """The sums over what `head` selects; squares are left at 0 for numbers, which may differ."""
    if head.relative_positions is not None:
        return _by_offset(program, head, state)
    if program.causal:
        return _by_key_before(program, head, state)
    return _by_key(program, head, state)


def _by_offset(program: Program, head: Head, state: State) -> Sums:
    """Walk the allowed offsets: work grows with their number, not with the length squared."""
    longest = int(state.batch.ends.max(initial=0))
    is_number = isinstance(program.specs[head.value], Numerical)
    count, total, squares = (np.zeros(len(state.batch.example)) for _ in range(3))
    for offset in sorted(head.relative_positions or ()):
        if abs(offset) >= longest or (program.causal and offset > 0):
            continue
        values, chosen = _neighbours(state, head.value, offset)
        if head.query is not None and head.key is not None:
            keys, _ = _neighbours(state, head.key, offset)
            chosen = chosen & _matches(program, head.query, state.columns[head.query], keys)
        carried = np.where(chosen, values, 0.0)
        count += chosen
        total += carried
        if not is_number:
            squares += carried * carried
    return Sums(count, total, squares)


def _neighbours(state: State, name: str, offset: int) -> tuple[Column, Mask]:
    """For each entry, the value `offset` to its right, and whether there is one."""
    source, inside = state.batch.shifted(offset)
    values = state.columns[name][source]
    if state.past is None or offset >= 0:
        return values, inside
    place = state.batch.position + offset
    earlier = (place >= 0) & ~inside
    old = state.past.at(name, state.batch.example, place)
    return np.where(earlier, old, values), inside | earlier


def _matches(program: Program, query_name: str, query: Column, key: Column) -> Mask:
    """Where a key equals the query (or is in it)."""
    match program.specs[query_name]:
        case SetValued() as spec:
            return np.asarray(_members(spec)[query.astype(np.int64), key.astype(np.int64)] > 0)
        case _:
            return np.asarray(query == key)


def _by_key_before(program: Program, head: Head, state: State) -> Sums:
    """The selection matrix under the causal mask (A.3), some of its rows at a time."""
    assert head.query is not None
    assert head.key is not None
    batch, query = state.batch, state.columns[head.query]
    places, keys, values = before(state, head.key, head.value)
    is_number = isinstance(program.specs[head.value], Numerical)
    count, total, squares = (np.zeros(len(query)) for _ in range(3))
    rows = max(1, CELLS // max(1, places.shape[1]))
    for first in range(0, len(query), rows):
        block = slice(first, first + rows)
        example = batch.example[block]
        chosen = places[example] <= batch.position[block, None]
        chosen &= _matches(program, head.query, query[block, None], keys[example])
        carried = np.where(chosen, values[example], 0.0)
        count[block], total[block] = chosen.sum(1), carried.sum(1)
        if not is_number:
            squares[block] = (carried * carried).sum(1)
    return Sums(count, total, squares)


def _by_key(program: Program, head: Head, state: State) -> Sums:
    """Sum once over each key value of each sequence; every query then looks its sum up."""
    assert head.query is not None
    assert head.key is not None
    batch, key_spec = state.batch, program.specs[head.key]
    values = state.columns[head.value].astype(np.float64)
    assert isinstance(key_spec, Categorical)
    slots = batch.example * key_spec.size + state.columns[head.key].astype(np.int64)
    is_number = isinstance(program.specs[head.value], Numerical)
    squared = np.zeros_like(values) if is_number else values * values
    per_key = [
        np.bincount(slots, weights=weights, minlength=len(batch) * key_spec.size)
        for weights in (None, values, squared)
    ]
    query = state.columns[head.query].astype(np.int64)
    match program.specs[head.query]:
        case SetValued() as spec:
            members = _members(spec)
            found = [(sums.reshape(len(batch), -1) @ members.T) for sums in per_key]
            count, total, squares = (sums[batch.example, query] for sums in found)
        case _:
            wanted = batch.example * key_spec.size + query
            count, total, squares = (sums[wanted].astype(np.float64) for sums in per_key)
    return Sums(count, total, squares)


def _members(spec: SetValued) -> Floats:
    """A row a declared set, with a 1 for each of its elements."""
    rows = np.zeros((len(spec.values), spec.size))
    for row, value in zip(rows, spec.values, strict=True):
        row[sorted(value)] = 1
    return rows
