"""What an expression means, by plain Python: no program, no layers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from espalier.errors import ProgramError, UndefinedError
from espalier.rasp.expressions import (
    REQUIRED,
    Aggregate,
    Encoding,
    Expression,
    Indices,
    Map,
    Tokens,
    Width,
    as_tokens,
    in_order,
)
from espalier.rasp.facts import apply, as_fraction, is_number
from espalier.rasp.selectors import Joined, Select, Selector

Sequence = list[Any]
Values = dict[Expression, Sequence]


def evaluate(
    expression: Expression, sequence: Iterable[Hashable], *, causal: bool = False
) -> Sequence:
    """The value of `expression` at each position of `sequence`.

    With `causal` a position selects from those up to itself alone.
    """
    if not isinstance(expression, Expression):
        raise ProgramError(f"evaluate needs an expression; found {expression!r}")
    given = as_tokens(sequence, "the input")
    values: Values = {}
    for node in in_order(expression):
        values[node] = _evaluate(node, given, values, causal)
    return values[expression]


def _evaluate(node: Expression, given: Sequence, values: Values, causal: bool) -> Sequence:
    match node:
        case Tokens():
            return given
        case Indices():
            return list(range(len(given)))
        case Map(operands=operands):
            places = zip(*(values[operand] for operand in operands), strict=True)
            return [apply(node, dict(zip(operands, row, strict=True))) for row in places]
        case Width(selector=selector):
            return [len(chosen) for chosen in _selected(selector, values, len(given), causal)]
        case Aggregate(selector=selector, values=carried):
            rows = _selected(selector, values, len(given), causal)
            return [_aggregate(node, [values[carried][j] for j in chosen]) for chosen in rows]


def _selected(selector: Selector, values: Values, length: int, causal: bool) -> list[list[int]]:
    return [
        [
            place
            for place in range(query + 1 if causal else length)
            if _selects(selector, values, place, query)
        ]
        for query in range(length)
    ]


def _selects(selector: Selector, values: Values, key: int, query: int) -> bool:
    match selector:
        case Select(keys=keys, queries=queries):
            return selector.holds(values[keys][key], values[queries][query])
        case Joined(left=left, right=right, join=join):
            sides = (_selects(side, values, key, query) for side in (left, right))
            return bool(join(*sides))


def _aggregate(node: Aggregate, chosen: Sequence) -> Any:
    if not chosen:
        if node.default is REQUIRED:
            what = "mean" if node.encoding is Encoding.NUMERICAL else "aggregate"
            raise UndefinedError(f"{what} selects no position; give it a default")
        return node.default
    different = set(chosen)
    if node.kind is Encoding.NUMERICAL and different != {None}:
        averages = True
    else:
        averages = len(different) > 1 and node.kind is None and all(map(is_number, chosen))
    if averages and None not in different:
        return sum(map(as_fraction, chosen)) / len(chosen)
    if len(different) != 1:
        raise UndefinedError(
            f"aggregate selects {len(chosen)} positions, which hold {len(different)} different "
            "values that are not all numbers; it needs exactly one, or numbers to average"
        )
    return chosen[0]
