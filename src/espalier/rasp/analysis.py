"""What is known of an expression before it runs: its possible values, and when it is ready.

An expression of the tokens alone, or of the indices alone, is a table: it is part of the embedding
and ready before the first layer. Anything else is written in one layer, the same at all positions.
A head reads what was ready before its layer, and rules may read the head in that same layer.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from espalier.errors import ProgramError
from espalier.rasp.expressions import (
    REQUIRED,
    Aggregate,
    Expression,
    Indices,
    Map,
    Mean,
    Selector,
    Tokens,
    Width,
    children,
    in_order,
)

# More combinations, pairs of key and query, or means than this are not tabulated.
MOST = 100_000
MOST_PAIRS = 1_000_000
MOST_MEANS = 4096


@dataclass(frozen=True)
class ByToken:
    """The value for each token."""

    table: tuple[Any, ...]


@dataclass(frozen=True)
class ByIndex:
    """The value at each index."""

    table: tuple[Any, ...]


@dataclass(frozen=True)
class Computed:
    """The value is written in a layer."""


@dataclass(frozen=True)
class Fact:
    """Possible values, the layer after which they are there, and where they come from."""

    values: tuple[Any, ...]
    layer: int
    origin: ByToken | ByIndex | Computed


Facts = dict[Expression, Fact]


def is_head(node: Expression) -> bool:
    """Whether the expression is what a head reports."""
    return isinstance(node, Aggregate | Mean | Width)


def analyse(expression: Expression, vocabulary: Sequence[Any], longest: int) -> Facts:
    """The facts of an expression and of all that it is made of, parts before wholes."""
    facts: Facts = {}
    for node in in_order(expression):
        match node:
            case Tokens():
                facts[node] = Fact(tuple(vocabulary), 0, ByToken(tuple(vocabulary)))
            case Indices():
                facts[node] = Fact(tuple(range(longest)), 0, ByIndex(tuple(range(longest))))
            case Map():
                facts[node] = _map(node, facts)
            case Width():
                facts[node] = _head(node, facts, range(longest + 1))
            case Aggregate(values=carried):
                facts[node] = _head(node, facts, facts[carried].values)
            case Mean(values=carried):
                facts[node] = _head(node, facts, possible_means(facts[carried].values, longest))
    return facts


def apply(node: Map, values: dict[Expression, Any]) -> Any:
    """The value of a map where its operands have `values`."""
    given = [values[operand] for operand in node.operands]
    try:
        found = node.function(*given)
        hash(found)
    except Exception as error:
        shown = ", ".join(map(repr, given))
        raise ProgramError(
            f"the function of {node.label or 'an elementwise expression'} fails on ({shown}): "
            f"{type(error).__name__}: {error}. It must answer for every combination of values"
        ) from error
    return found


def selected(selector: Selector, facts: Facts) -> dict[Any, list[Any]]:
    """For each possible query, the possible keys that it selects."""
    keys, queries = facts[selector.keys].values, facts[selector.queries].values
    if len(keys) * len(queries) > MOST_PAIRS:
        raise ProgramError(
            f"a selector compares {len(keys):,} possible keys with {len(queries):,} possible "
            f"queries, more than {MOST_PAIRS:,} pairs; give a smaller vocabulary or longest, or "
            "compare fewer values at a time"
        )
    return {query: [key for key in keys if holds(selector, key, query)] for query in queries}


def holds(selector: Selector, key: Any, query: Any) -> bool:
    """Whether the query selects the key."""
    try:
        return bool(selector.predicate(key, query))
    except Exception as error:
        raise ProgramError(
            f"a selector's predicate fails on key {key!r} and query {query!r}: "
            f"{type(error).__name__}: {error}. It must answer for every pair of values"
        ) from error


def _map(node: Map, facts: Facts) -> Fact:
    operands = list(dict.fromkeys(node.operands))
    origins = [facts[operand].origin for operand in operands]
    for kind in (ByToken, ByIndex):
        if all(isinstance(origin, kind) for origin in origins):
            rows = zip(*(origin.table for origin in origins), strict=True)  # type: ignore[union-attr]
            table = tuple(apply(node, dict(zip(operands, row, strict=True))) for row in rows)
            return Fact(_different(table), 0, kind(table))
    sizes = [len(facts[operand].values) for operand in operands]
    if math.prod(sizes) > MOST:
        raise ProgramError(
            f"{node.label or 'an elementwise expression'} combines {' x '.join(map(str, sizes))} "
            f"values, more than {MOST:,}; give a smaller vocabulary or longest, or combine in steps"
        )
    combinations = itertools.product(*(facts[operand].values for operand in operands))
    found = _different(apply(node, dict(zip(operands, row, strict=True))) for row in combinations)
    return Fact(found, _layer_of_map(operands, facts), Computed())


def _layer_of_map(operands: list[Expression], facts: Facts) -> int:
    """In the layer of its last operands if rules can see these there, else in the next.

    They see heads; and a function of one map alone is written by the rules of that map.
    """
    last = max(facts[operand].layer for operand in operands)
    latest = [operand for operand in operands if facts[operand].layer == last]
    return last if len(operands) == 1 or all(map(is_head, latest)) else last + 1


def _head(node: Aggregate | Mean | Width, facts: Facts, values: Any) -> Fact:
    default = REQUIRED if isinstance(node, Width) else node.default
    possible = list(values) if default is REQUIRED else [*values, default]
    layer = 1 + max(facts[part].layer for part in children(node))
    return Fact(_different(possible), layer, Computed())


def as_fraction(value: Any) -> Fraction:
    """The exact number, if it is one and a float can hold it nearly."""
    try:
        number = Fraction(value)
        float(number)
    except (TypeError, ValueError, OverflowError):
        raise ProgramError(
            f"mean needs numbers that are finite; found {value!r}; map the values to such numbers"
        ) from None
    return number


def possible_means(values: tuple[Any, ...], longest: int) -> list[Fraction]:
    """Every mean of up to `longest` of the values."""
    numbers = {as_fraction(value) for value in values}
    sums, found = {Fraction(0)}, set[Fraction]()
    for count in range(1, longest + 1):
        sums = {total + number for total in sums for number in numbers}
        found |= {total / count for total in sums}
        if len(found) > MOST_MEANS:
            raise ProgramError(
                f"the mean of up to {longest} of {len(numbers)} numbers may be one of more than "
                f"{MOST_MEANS:,}; map the values to fewer numbers, or give a smaller longest"
            )
    return sorted(found)


def _different(values: Any) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(values))
