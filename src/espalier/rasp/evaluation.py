"""What an expression means, by plain Python: no program, no layers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from fractions import Fraction
from typing import Any

from espalier.errors import UndefinedError
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
    in_order,
)

Sequence = list[Any]


def evaluate(expression: Expression, sequence: Iterable[Hashable]) -> Sequence:
    """The value of `expression` at each position of `sequence`."""
    given = list(sequence)
    values: dict[Expression, Sequence] = {}
    for node in in_order(expression):
        values[node] = _evaluate(node, given, values)
    return values[expression]


def _evaluate(node: Expression, given: Sequence, values: dict[Expression, Sequence]) -> Sequence:
    match node:
        case Tokens():
            return given
        case Indices():
            return list(range(len(given)))
        case Map(function=function, operands=operands):
            return [function(*here) for here in zip(*(values[o] for o in operands), strict=True)]
        case Width(selector=selector):
            return [len(chosen) for chosen in _selected(selector, values)]
        case Aggregate(selector=selector, values=carried, default=default):
            rows = _selected(selector, values)
            return [_shared([values[carried][j] for j in chosen], default) for chosen in rows]
        case Mean(selector=selector, values=carried, default=default):
            rows = _selected(selector, values)
            return [_mean([values[carried][j] for j in chosen], default) for chosen in rows]


def _selected(selector: Selector, values: dict[Expression, Sequence]) -> list[list[int]]:
    keys, queries = values[selector.keys], values[selector.queries]
    return [
        [place for place, key in enumerate(keys) if selector.predicate(key, query)]
        for query in queries
    ]


def _shared(chosen: Sequence, default: Any) -> Any:
    if not chosen and default is not REQUIRED:
        return default
    if len(set(chosen)) != 1:
        raise UndefinedError(
            f"aggregate selects {len(chosen)} positions, which hold {len(set(chosen))} different "
            "values; it needs exactly one, or a default where nothing is selected"
        )
    return chosen[0]


def _mean(chosen: Sequence, default: Any) -> Any:
    if not chosen and default is REQUIRED:
        raise UndefinedError("mean selects no position; give it a default")
    return sum(map(Fraction, chosen)) / len(chosen) if chosen else default
