"""A selector as parts that heads can read: tables of keys and queries, some up to a position only.

A comparison of (x, index) with (y, index), such as the one that sorts with ties broken by place,
has as many keys as pairs. Where for each x and y it depends on nothing but whether the key is
before, at or after the query, it is a sum of selections over x and y alone, each with a reach:

    after the query     = all - up to it
    at the query        = up to it - before it
"""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from espalier.errors import ProgramError
from espalier.rasp.expressions import Expression, Map
from espalier.rasp.facts import ByIndex, Computed, Facts, Part, Reach, apply
from espalier.rasp.selectors import Joined, Select, Selector

Codes = NDArray[np.int64]
Truth = NDArray[np.bool_]

# More pairs of key and query than this are not compared one by one, or in arrays.
MOST_PAIRS = 1_000_000
MOST_CELLS = 1_000_000_000

# Which of before, at and after belong to a selection, and its parts.
PARTS = {
    (0, 0, 0): {},
    (1, 1, 1): {Reach.ALL: 1},
    (1, 1, 0): {Reach.UP_TO: 1},
    (1, 0, 0): {Reach.BEFORE: 1},
    (0, 0, 1): {Reach.ALL: 1, Reach.UP_TO: -1},
    (0, 1, 1): {Reach.ALL: 1, Reach.BEFORE: -1},
    (0, 1, 0): {Reach.UP_TO: 1, Reach.BEFORE: -1},
    (1, 0, 1): {Reach.ALL: 1, Reach.UP_TO: -1, Reach.BEFORE: 1},
}
ORDERED = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)


def whole(select: Select, facts: Facts) -> Part:
    """A comparison as one part, every pair of possible values compared."""
    keys, queries = facts[select.keys].values, facts[select.queries].values
    if len(keys) * len(queries) > MOST_PAIRS:
        raise ProgramError(
            f"a selector compares {len(keys):,} possible keys with {len(queries):,} possible "
            f"queries, more than {MOST_PAIRS:,} pairs; give a smaller vocabulary or longest, or "
            "compare fewer values at a time"
        )
    table = {query: tuple(key for key in keys if select.holds(key, query)) for query in queries}
    return Part(select.keys, select.queries, table)


def by_reach(
    selector: Selector, facts: Facts, longest: int, *, causal: bool
) -> tuple[Part, ...] | None:
    """The parts of a selector that compares with indices besides; None if it has no such form."""
    keys = _Side([part.keys for part in selector.parts], facts, longest)
    queries = _Side([part.queries for part in selector.parts], facts, longest)
    if longest == 1 or not (keys.by_place or queries.by_place):
        return None
    if keys.base is None or queries.base is None:
        return None
    key_values, query_values = facts[keys.base].values, facts[queries.base].values
    if len(key_values) * len(query_values) * longest**2 > MOST_CELLS:
        return None
    tests = [_comparison(part, facts) for part in selector.parts]
    tables: dict[tuple[Reach, int], dict[Any, list[Any]]] = defaultdict(
        lambda: {query: [] for query in query_values}
    )
    for row, query in enumerate(query_values):
        found = _compare(selector, iter(tests), iter(keys.codes), queries.at(row))
        kinds = _kinds(np.broadcast_to(found, (len(key_values), longest, longest)), causal)
        if kinds is None:
            return None
        for key, kind in zip(key_values, kinds, strict=True):
            for reach, sign in PARTS[kind].items():
                tables[reach, sign][query].append(key)
    return tuple(
        Part(keys.base, queries.base, {q: tuple(k) for q, k in table.items()}, reach, sign)
        for (reach, sign), table in tables.items()
    )


class _Side:
    """The keys of a selector's comparisons, or their queries, as functions of a base and a place.

    `codes` has for each comparison an array over the base's values and the places (or 1 for
    either): which of its possible values the compared expression has there.
    """

    def __init__(self, nodes: list[Expression], facts: Facts, longest: int) -> None:
        found = [_based(node, facts, longest) for node in nodes]
        bases = {base for base, _ in found if base is not None}
        self.base = bases.pop() if len(bases) == 1 else None
        self.codes = [codes for _, codes in found]
        self.by_place = any(codes.shape[1] > 1 for codes in self.codes)

    def at(self, row: int) -> Iterator[Codes]:
        """The codes of one value of the base."""
        return (codes[row if len(codes) > 1 else 0] for codes in self.codes)


def _based(node: Expression, facts: Facts, longest: int) -> tuple[Expression | None, Codes]:
    fact = facts[node]
    codes = {value: code for code, value in enumerate(fact.values)}
    if isinstance(fact.origin, ByIndex):
        return None, np.array([[codes[value] for value in fact.origin.table]])
    operands = list(dict.fromkeys(node.operands)) if isinstance(node, Map) else []
    tables = {o: origin.table for o in operands if isinstance(origin := facts[o].origin, ByIndex)}
    others = [operand for operand in operands if operand not in tables]
    if not isinstance(fact.origin, Computed) or not tables or len(others) != 1:
        return node, np.arange(len(codes))[:, None]
    assert isinstance(node, Map)
    base = others[0]
    rows = [
        [
            codes[apply(node, {base: value, **{o: table[place] for o, table in tables.items()}})]
            for place in range(longest)
        ]
        for value in facts[base].values
    ]
    return base, np.array(rows)


def _comparison(select: Select, facts: Facts) -> Callable[[Codes, Codes], Truth]:
    """Whether keys of some codes are selected by queries of others."""
    keys, queries = facts[select.keys].values, facts[select.queries].values
    ranks = _ranks(keys, queries) if select.predicate in ORDERED else None
    if ranks is not None:
        of_key = np.array([ranks.get(key, 0) for key in keys])
        of_query = np.array([ranks.get(query, 0) for query in queries])
        some_key = np.array([key is not None for key in keys])
        some_query = np.array([query is not None for query in queries])
        compare: Any = select.predicate
        return lambda k, q: compare(of_key[k], of_query[q]) & some_key[k] & some_query[q]
    part = whole(select, facts)
    chosen = {query: set(found) for query, found in part.table.items()}
    matrix = np.array([[key in chosen[query] for query in queries] for key in keys])
    return lambda k, q: np.asarray(matrix[k, q])


def _ranks(*sides: tuple[Any, ...]) -> dict[Any, int] | None:
    """The place of each value in order, if they are numbers, texts or tuples of these."""
    values = {value for side in sides for value in side if value is not None}
    if not all(map(_has_order, values)):
        return None
    try:
        return {value: rank for rank, value in enumerate(sorted(values))}
    except TypeError:
        return None


def _has_order(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_has_order, value))
    return isinstance(value, int | float | Fraction | str) and value == value


def _compare(selector: Selector, tests: Any, keys: Any, queries: Any) -> Truth:
    """Truth over (key, place of key, place of query), for one value of the queries' base."""
    match selector:
        case Select():
            test, key, query = next(tests), next(keys), next(queries)
            return np.asarray(test(key[:, :, None], query[None, None, :]))
        case Joined(left=left, right=right, join=join):
            one = _compare(left, tests, keys, queries)
            return np.asarray(join(one, _compare(right, tests, keys, queries)))


def _kinds(found: Truth, causal: bool) -> list[tuple[int, int, int]] | None:
    """For each key whether positions before, at and after the query are selected.

    None if some, but not all, of these are.
    """
    key_place, query_place = np.indices(found.shape[1:])
    regions = [key_place < query_place, key_place == query_place, key_place > query_place]
    masks = np.stack([region.ravel() for region in regions], 1).astype(np.float32)
    counts = found.reshape(len(found), -1).astype(np.float32) @ masks
    full = counts == masks.sum(0)
    if causal:  # what comes after is never seen: as if selected like the query itself
        counts[:, 2], full[:, 2] = np.where(full[:, 1], masks[:, 2].sum(), 0), full[:, 1]
    if not ((counts == 0) | full).all():
        return None
    return [(int(row[0]), int(row[1]), int(row[2])) for row in full]
