"""What can be written: sequences of values, and selectors of positions.

An expression has one value at each position of an input. An expression that is used twice
is computed once. Operators make new expressions, `==` among them: see `operators`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from espalier.errors import ProgramError
from espalier.language import as_integer, as_items
from espalier.rasp.operators import Operators, is_exactly_linear
from espalier.rasp.selectors import Joined, Predicate, Select, Selector, check_selector


class _Required:
    """The default of an aggregate that has none: selecting nothing is then an error."""

    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED = _Required()
_ABSENT = object()


class Encoding(Enum):
    """What an aggregate makes of numbers: the one that all selected share, or their mean."""

    CATEGORICAL = "categorical"
    NUMERICAL = "numerical"


@dataclass(frozen=True, eq=False)
class _Base(Operators):
    label: str = field(default="", kw_only=True)
    encoding: Encoding | None = field(default=None, kw_only=True)

    def named(self, label: str) -> Any:
        """The same expression under a name, which its variable will have."""
        if not isinstance(label, str):
            raise ProgramError(f"an expression is named by a text; found {label!r}")
        return replace(self, label=label)

    def _elementwise(
        self, function: Callable[..., Any], *, left: object = _ABSENT, right: object = _ABSENT
    ) -> Map:
        """`function` of this expression and of the operand to its left or right."""
        given = [side for side in (left, self, right) if side is not _ABSENT]
        operands: Any = tuple(side for side in given if isinstance(side, _Base))
        constants = [side for side in given if not isinstance(side, _Base)]
        if any(isinstance(constant, Selector) for constant in constants):
            raise ProgramError("a selector and an expression cannot be combined; use aggregate")
        linear = is_exactly_linear(function, constants)
        if not constants:
            return Map(function, operands, linear=linear)
        if left is _ABSENT:
            return Map(lambda value: function(value, right), operands, linear=linear)
        return Map(lambda value: function(left, value), operands, linear=linear)


@dataclass(frozen=True, eq=False)
class Tokens(_Base):
    """The input itself."""


@dataclass(frozen=True, eq=False)
class Indices(_Base):
    """0, 1, 2, ..."""


@dataclass(frozen=True, eq=False)
class Map(_Base):
    """A function of the values of other expressions at the same position; None if one is None."""

    function: Callable[..., Hashable]
    operands: tuple[Expression, ...]
    linear: bool = False  # a sum of exact multiples of the operands and a constant
    sees_none: bool = False


@dataclass(frozen=True, eq=False)
class Aggregate(_Base):
    """The value that all selected positions share, or the mean of their numbers."""

    selector: Selector
    values: Expression
    default: Any

    @property
    def kind(self) -> Encoding | None:
        """What was said of it or of its values."""
        return self.encoding or self.values.encoding


@dataclass(frozen=True, eq=False)
class Width(_Base):
    """How many positions are selected."""

    selector: Selector


Expression = Tokens | Indices | Map | Aggregate | Width

tokens = Tokens(label="tokens")
indices = Indices(label="indices")


def elementwise(function: Callable[..., Hashable], *operands: Expression) -> Map:
    """`function` of the operands' values at each position (Tracr's Map and SequenceMap).

    Where an operand is None the value is None, and the function is not asked.
    """
    if not operands or not callable(function) or isinstance(function, _Base):
        raise ProgramError("elementwise needs a function and at least one expression")
    checked = tuple(_expression(operand) for operand in operands)
    return Map(function, checked, linear=is_exactly_linear(function, []))


def full(value: Hashable) -> Map:
    """The same value at every position (Tracr's Full)."""
    check_hashable(value, "the value of full")
    return Map(lambda token: value, (tokens,), sees_none=True)


def numerical(values: Any) -> Any:
    """The same expression, whose aggregates are means (exact fractions)."""
    return replace(_expression(values), encoding=Encoding.NUMERICAL)


def categorical(values: Any) -> Any:
    """The same expression, whose aggregates are values that all selected positions share."""
    return replace(_expression(values), encoding=Encoding.CATEGORICAL)


def select(keys: Expression, queries: Expression, predicate: Predicate = operator.eq) -> Selector:
    """Each position selects where `predicate(key, query)` holds of that key and its own query.

    A key of None is never selected, and a query of None selects nothing.
    """
    if not callable(predicate) or isinstance(predicate, _Base):
        raise ProgramError(f"select needs a function of a key and a query; found {predicate!r}")
    return Select(_expression(keys), _expression(queries), predicate)


def select_all() -> Selector:
    """Every position selects every position."""
    return Select(indices, indices, lambda key, query: True)


def aggregate(selector: Selector, values: Expression, default: Any = REQUIRED) -> Aggregate:
    """The value that all selected positions share, or else the mean of their numbers.

    It is `default` where none is selected. Where selected positions differ and are no numbers, or
    none is selected and there is no default, the interpreter raises UndefinedError. `numerical` and
    `categorical` say which of the two it is.
    """
    default = check_hashable(default, "the default of an aggregate")
    return Aggregate(check_selector(selector), _expression(values), default)


def mean(selector: Selector, values: Expression, default: Any = REQUIRED) -> Aggregate:
    """The mean of the numbers at the selected positions, as a Fraction."""
    default = check_hashable(default, "the default of a mean")
    kind = Encoding.NUMERICAL
    return Aggregate(check_selector(selector), _expression(values), default, encoding=kind)


def selector_width(selector: Selector) -> Width:
    """How many positions each position selects."""
    return Width(check_selector(selector))


def exists(selector: Selector) -> Aggregate:
    """Whether each position selects any."""
    return aggregate(selector, always, default=False)


def shift(values: Expression, steps: int, default: Any = None) -> Aggregate:
    """The value `steps` to the left (to the right, if negative); `default` beyond the ends."""
    distance = as_integer(steps, "the steps of a shift")
    return aggregate(select(indices, indices, lambda k, q: k == q - distance), values, default)


length = Width(select_all(), label="length")
always = Map(lambda token: True, (tokens,), label="always", sees_none=True)


def children(expression: Expression) -> tuple[Expression, ...]:
    """The expressions that one is made of."""
    match expression:
        case Tokens() | Indices():
            return ()
        case Map(operands=operands):
            return operands
        case Width(selector=selector):
            return selector.compared
        case Aggregate(selector=selector, values=values):
            return (*selector.compared, values)


def in_order(expression: Expression) -> list[Expression]:
    """The expression and all it is made of, each once, parts before wholes."""
    order: dict[Expression, None] = {}
    stack: list[tuple[Expression, bool]] = [(expression, False)]
    while stack:
        node, parts_done = stack.pop()
        if parts_done:
            order.setdefault(node)
        elif node not in order:
            stack.append((node, True))
            stack.extend((part, False) for part in reversed(children(node)))
    return list(order)


def as_one_select(selector: Selector) -> Select:
    """A selector over tuples of keys and tuples of queries, where its parts compare different."""
    if isinstance(selector, Select):
        return selector
    keys = list(dict.fromkeys(part.keys for part in selector.parts))
    queries = list(dict.fromkeys(part.queries for part in selector.parts))
    key_place = {node: place for place, node in enumerate(keys)}
    query_place = {node: place for place, node in enumerate(queries)}

    def holds(part: Selector, key: Any, query: Any) -> bool:
        match part:
            case Select():
                return part.holds(key[key_place[part.keys]], query[query_place[part.queries]])
            case Joined(join=join):
                return bool(join(holds(part.left, key, query), holds(part.right, key, query)))

    return Select(_tuple(keys), _tuple(queries), lambda key, query: holds(selector, key, query))


def _tuple(parts: list[Expression]) -> Map:
    labels = [part.label for part in parts]
    label = "_and_".join(labels) if all(labels) else ""
    return Map(lambda *values: values, tuple(parts), label=label, sees_none=True)


def check_hashable(value: Any, what: str) -> Any:
    """`value` itself, if it can be looked up in a table."""
    try:
        hash(value)
    except TypeError as error:
        raise ProgramError(f"{what} is {value!r}: {error}; use a tuple or a frozenset") from None
    return value


def as_tokens(sequence: object, what: str) -> list[Any]:
    """The tokens of a text or of a collection."""
    found = [*sequence] if isinstance(sequence, str) else as_items(sequence, what)
    for place, token in enumerate(found):
        check_hashable(token, f"position {place} of {what}")
    return found


def _expression(given: object) -> Expression:
    if not isinstance(given, Expression):
        raise ProgramError(
            f"an expression is needed, such as tokens or elementwise(...); found {given!r}"
        )
    return given
