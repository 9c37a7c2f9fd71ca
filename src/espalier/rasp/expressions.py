"""What can be written: sequences of values, and selectors of positions.

An expression stands for one value at each position of an input. Expressions are compared by
identity: one that is used twice is computed once.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any

from espalier.errors import ProgramError
from espalier.language.variables import as_integer, as_items

Predicate = Callable[[Any, Any], object]


class _Required:
    """The default of an aggregate that has none: selecting nothing is then an error."""

    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED = _Required()


@dataclass(frozen=True, eq=False)
class _Base:
    label: str = field(default="", kw_only=True)

    def named(self, label: str) -> Any:
        """The same expression under a name, which its variable will have."""
        if not isinstance(label, str):
            raise ProgramError(f"an expression is named by a text; found {label!r}")
        return replace(self, label=label)

    def __add__(self, other: object) -> Map:
        return _arithmetic(operator.add, self, other)

    def __radd__(self, other: object) -> Map:
        return _arithmetic(operator.add, other, self)

    def __sub__(self, other: object) -> Map:
        return _arithmetic(operator.sub, self, other)

    def __rsub__(self, other: object) -> Map:
        return _arithmetic(operator.sub, other, self)

    def __mul__(self, other: object) -> Map:
        return _arithmetic(operator.mul, self, other)

    def __rmul__(self, other: object) -> Map:
        return _arithmetic(operator.mul, other, self)


@dataclass(frozen=True, eq=False)
class Tokens(_Base):
    """The input itself."""


@dataclass(frozen=True, eq=False)
class Indices(_Base):
    """0, 1, 2, ..."""


@dataclass(frozen=True, eq=False)
class Map(_Base):
    """A function of the values of other expressions at the same position."""

    function: Callable[..., Hashable]
    operands: tuple[Expression, ...]


@dataclass(frozen=True, eq=False)
class Aggregate(_Base):
    """The value that all selected positions share."""

    selector: Selector
    values: Expression
    default: Any


@dataclass(frozen=True, eq=False)
class Mean(_Base):
    """The mean of the selected positions' numbers, a Fraction."""

    selector: Selector
    values: Expression
    default: Any


@dataclass(frozen=True, eq=False)
class Width(_Base):
    """How many positions are selected."""

    selector: Selector


Expression = Tokens | Indices | Map | Aggregate | Mean | Width


@dataclass(frozen=True, eq=False)
class Selector:
    """Position i selects every j for which predicate(key at j, query at i) is true."""

    keys: Expression
    queries: Expression
    predicate: Predicate

    def __invert__(self) -> Selector:
        return Selector(self.keys, self.queries, lambda key, query: not self.predicate(key, query))

    def __and__(self, other: Selector) -> Selector:
        return _combine(self, other, lambda one, two: one() and two())

    def __or__(self, other: Selector) -> Selector:
        return _combine(self, other, lambda one, two: one() or two())


tokens = Tokens(label="tokens")
indices = Indices(label="indices")


def elementwise(function: Callable[..., Hashable], *operands: Expression) -> Map:
    """`function` of the operands' values at each position (Tracr's Map and SequenceMap)."""
    if not operands or not callable(function):
        raise ProgramError("elementwise needs a function and at least one expression")
    return Map(function, tuple(_expression(operand) for operand in operands))


def select(keys: Expression, queries: Expression, predicate: Predicate = operator.eq) -> Selector:
    """Each position selects where `predicate(key, query)` holds of that key and its own query."""
    if not callable(predicate):
        raise ProgramError(f"select needs a function of a key and a query; found {predicate!r}")
    return Selector(_expression(keys), _expression(queries), predicate)


def select_all() -> Selector:
    """Every position selects every position."""
    return Selector(indices, indices, lambda key, query: True)


def aggregate(selector: Selector, values: Expression, default: Any = REQUIRED) -> Aggregate:
    """The value that all selected positions share; `default` where none is selected.

    Where selected positions differ, or none is selected and there is no default, the interpreter
    raises UndefinedError.
    """
    default = check_hashable(default, "the default of an aggregate")
    return Aggregate(_selector(selector), _expression(values), default)


def mean(selector: Selector, values: Expression, default: Any = REQUIRED) -> Mean:
    """The mean of the numbers at the selected positions, as a Fraction."""
    default = check_hashable(default, "the default of a mean")
    return Mean(_selector(selector), _expression(values), default)


def selector_width(selector: Selector) -> Width:
    """How many positions each position selects."""
    return Width(_selector(selector))


def exists(selector: Selector) -> Aggregate:
    """Whether each position selects any."""
    return aggregate(selector, always, default=False)


def shift(values: Expression, steps: int, default: Any) -> Aggregate:
    """What stands `steps` to the left (to the right, if negative); `default` beyond the ends."""
    distance = as_integer(steps, "the steps of a shift")
    return aggregate(select(indices, indices, lambda k, q: k == q - distance), values, default)


length = Width(select_all(), label="length")
always = Map(lambda token: True, (tokens,), label="always")


def children(expression: Expression) -> tuple[Expression, ...]:
    """The expressions that one is made of."""
    match expression:
        case Tokens() | Indices():
            return ()
        case Map(operands=operands):
            return operands
        case Width(selector=selector):
            return (selector.keys, selector.queries)
        case Aggregate(selector=selector, values=values) | Mean(selector=selector, values=values):
            return (selector.keys, selector.queries, values)


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


def _arithmetic(function: Callable[..., Any], left: object, right: object) -> Map:
    match left, right:
        case _Base(), _Base():
            return elementwise(function, left, right)  # type: ignore[arg-type]
        case _Base(), constant:
            return elementwise(lambda value: function(value, constant), left)  # type: ignore[arg-type]
        case constant, _:
            return elementwise(lambda value: function(constant, value), right)  # type: ignore[arg-type]


def _combine(left: Selector, right: Selector, join: Callable[..., object]) -> Selector:
    """Two selectors as one, over pairs of keys and pairs of queries where they differ."""
    right = _selector(right)
    if left.keys is right.keys and left.queries is right.queries:
        return Selector(
            left.keys,
            left.queries,
            lambda k, q: join(lambda: left.predicate(k, q), lambda: right.predicate(k, q)),
        )
    return Selector(
        _pair(left.keys, right.keys),
        _pair(left.queries, right.queries),
        lambda k, q: join(lambda: left.predicate(k[0], q[0]), lambda: right.predicate(k[1], q[1])),
    )


def _pair(one: Expression, other: Expression) -> Map:
    label = f"{one.label}_and_{other.label}" if one.label and other.label else ""
    return Map(lambda *values: values, (one, other), label=label)


def _expression(given: object) -> Expression:
    if not isinstance(given, Expression):
        raise ProgramError(
            f"an expression is needed, such as tokens or elementwise(...); found {given!r}"
        )
    return given


def _selector(given: object) -> Selector:
    if not isinstance(given, Selector):
        raise ProgramError(f"a selector is needed, made by select(...); found {given!r}")
    return given
