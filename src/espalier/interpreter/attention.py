"""Select and aggregate: what every head reports at every position (the paper's section 2.3).

Whichever way the selected positions are found, exact sums over them decide the answer: how many
there are, and for categorical values their sum and the sum of their squares, which agree exactly
when count * squares = total**2. Numbers are added up in parts of so few bits that nothing is
rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from espalier.interpreter.batch import NULL, Column, Ints, Mask, State
from espalier.interpreter.past import before
from espalier.language import (
    Categorical,
    Head,
    Numerical,
    Program,
    SetValued,
    part_tables,
    place_means,
)

Floats = NDArray[np.float64]


class Edges(NamedTuple):
    """Pairs of entries of a batch: the position of a query, and that of a key."""

    query: Ints
    key: Ints

    def take(self, which: Mask) -> Edges:
        """Some of them."""
        return Edges(self.query[which], self.key[which])


# How many positions are selected, and the sums over them.
Counted = tuple[Floats, list[Floats]]

# Cells of the selection matrix that are held at a time.
CELLS = 1 << 22


@dataclass(frozen=True)
class Sums:
    """Over the positions that each position selects: their number, and sums of what they hold.

    These are values and squares, or the parts of numbers divided by `factor`.
    """

    count: Floats
    totals: list[Floats]
    factor: Fraction = Fraction(1)


def attend(program: Program, state: State, cuts: Mapping[str, Edges] | None = None) -> State:
    """The state after the next layer's attention; every head reads the state before it."""
    cuts = cuts or {}
    columns = dict(state.columns)
    for name in program.heads:
        columns[name] = head_output(program, name, state, cuts.get(name))
    return replace(state, layer=state.layer + 1, columns=columns)


def head_output(program: Program, name: str, state: State, cut: Edges | None = None) -> Column:
    """What the head `name` reports at every entry, null where it is undefined."""
    head, spec = program.heads[name], program.specs[name]
    sums = select(program, head, state)
    if cut is not None:
        _take_out(program, head, state, sums, cut)
    if isinstance(spec, Numerical):
        return place_means(spec, sums.totals, sums.count, sums.factor)
    total, squares = sums.totals
    agree = (sums.count > 0) & (sums.count * squares == total**2)
    return np.where(agree, total / np.maximum(sums.count, 1), NULL).astype(np.int64)


def select(program: Program, head: Head, state: State) -> Sums:
    """The sums over what `head` selects."""
    count, totals = _way(program, head)(program, head, state)
    numbers = program.derived(part_tables).get(head.value)
    return Sums(count, totals, Fraction(1) if numbers is None else numbers.parts.factor)


def selects(program: Program, head: Head, state: State, edges: Edges) -> Mask:
    """Whether each of these edges, all within the head's reach, is selected."""
    if head.query is None or head.key is None:
        return np.ones(len(edges.query), dtype=bool)
    query, key = state.columns[head.query][edges.query], state.columns[head.key][edges.key]
    return _matches(program, head.query, query, key, nullable=state.nullable)


def _take_out(program: Program, head: Head, state: State, sums: Sums, cut: Edges) -> None:
    """The sums without some edges, in place: what was added exactly is subtracted exactly."""
    held = cut.take(selects(program, head, state, cut))
    np.subtract.at(sums.count, held.query, 1)
    terms = _terms(program, head, state.columns[head.value][held.key])
    for total, term in zip(sums.totals, terms, strict=True):
        np.subtract.at(total, held.query, term)


def _way(program: Program, head: Head) -> Callable[[Program, Head, State], Counted]:
    if head.relative_positions is not None:
        return _by_offset
    return _by_key_before if program.causal else _by_key


def _terms(program: Program, head: Head, values: Column) -> list[Floats]:
    """The quantities that are summed of the values that a head carries."""
    numbers, plain = program.derived(part_tables).get(head.value), values.astype(np.float64)
    return [plain, plain * plain] if numbers is None else numbers.split(plain)


def _by_offset(program: Program, head: Head, state: State) -> Counted:
    """Walk the allowed offsets: work grows with their number, not with the length squared."""
    longest = int(state.batch.ends.max(initial=0))
    count = np.zeros(len(state.batch.example))
    totals = [np.zeros_like(count) for _ in _terms(program, head, count)]
    for offset in sorted(head.relative_positions or ()):
        if abs(offset) >= longest or (program.causal and offset > 0):
            continue
        values, chosen = _neighbours(state, head.value, offset)
        if head.query is not None and head.key is not None:
            keys, _ = _neighbours(state, head.key, offset)
            query = state.columns[head.query]
            chosen = chosen & _matches(program, head.query, query, keys, nullable=state.nullable)
        count += chosen
        for total, term in zip(totals, _terms(program, head, values), strict=True):
            total += np.where(chosen, term, 0.0)
    return count, totals


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


def _matches(
    program: Program, query_name: str, query: Column, key: Column, *, nullable: bool
) -> Mask:
    """Where a key equals the query (or is in it); null matches nothing."""
    if nullable:
        found = _matches(program, query_name, query, key, nullable=False)
        return found & (query >= 0) & (key >= 0)
    match program.specs[query_name]:
        case SetValued() as spec:
            return np.asarray(_members(spec)[query.astype(np.int64), key.astype(np.int64)] > 0)
        case _:
            return np.asarray(query == key)


def _by_key_before(program: Program, head: Head, state: State) -> Counted:
    """The selection matrix under the causal mask (A.3), some of its rows at a time."""
    assert head.query is not None
    assert head.key is not None
    batch, query = state.batch, state.columns[head.query]
    places, keys, values = before(state, head.key, head.value)
    terms = _terms(program, head, values)
    count, *totals = (np.zeros(len(query)) for _ in range(1 + len(terms)))
    rows = max(1, CELLS // max(1, places.shape[1]))
    for first in range(0, len(query), rows):
        block = slice(first, first + rows)
        example = batch.example[block]
        chosen = places[example] <= batch.position[block, None]
        chosen &= _matches(
            program, head.query, query[block, None], keys[example], nullable=state.nullable
        )
        count[block] = chosen.sum(1)
        for total, term in zip(totals, terms, strict=True):
            total[block] = np.where(chosen, term[example], 0.0).sum(1)
    return count, totals


def _by_key(program: Program, head: Head, state: State) -> Counted:
    """Sum once over each key value of each sequence; every query then looks its sum up."""
    assert head.query is not None
    assert head.key is not None
    batch, key_spec, values = state.batch, program.specs[head.key], state.columns[head.value]
    assert isinstance(key_spec, Categorical)
    size, keys = key_spec.size, state.columns[head.key].astype(np.int64)
    query, terms = state.columns[head.query].astype(np.int64), _terms(program, head, values)
    example, asks = batch.example, None
    if state.nullable:
        there, asks = keys >= 0, query >= 0
        keys, example, query = keys[there], example[there], np.maximum(query, 0)
        terms = [term[there] for term in terms]
    per_key = [
        np.bincount(example * size + keys, weights=weights, minlength=len(batch) * size)
        for weights in (None, *terms)
    ]
    match program.specs[head.query]:
        case SetValued() as spec:
            members = _members(spec)
            found = [(sums.reshape(len(batch), -1) @ members.T) for sums in per_key]
            count, *totals = (sums[batch.example, query] for sums in found)
        case _:
            wanted = batch.example * size + query
            count, *totals = (sums[wanted].astype(np.float64) for sums in per_key)
    if asks is not None:
        count, totals = count * asks, [total * asks for total in totals]
    return count, totals


def _members(spec: SetValued) -> Floats:
    """One row per declared set, with a 1 for each of its elements."""
    rows = np.zeros((len(spec.values), spec.size))
    for row, value in zip(rows, spec.values, strict=True):
        row[sorted(value)] = 1
    return rows
