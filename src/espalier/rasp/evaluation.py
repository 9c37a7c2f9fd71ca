"""What an expression means, by plain Python: no program, no layers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from espalier.errors import ProgramError, UndefinedError
from espalier.rasp.analysis import apply, as_fraction, holds
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
    as_tokens,
    in_order,
)

Sequence = list[Any]


def evaluate(expression: Expression, sequence: Iterable[Hashable]) -> Sequence:
    """The value of `expression` at each position of `sequence`."""
    if not isinstance(expression, Expression):
        raise ProgramError(f"evaluate needs an expression; found {expression!r}")
    given = as_tokens(sequence, "the input")
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
        case Map(operands=operands):
            places = zip(*(values[operand] for operand in operands), strict=True)
            return [apply(node, dict(zip(operands, row, strict=True))) for row in places]
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
        [place for place, key in enumerate(keys) if holds(selector, key, query)]
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
    return sum(map(as_fraction, chosen)) / len(chosen) if chosen else default
