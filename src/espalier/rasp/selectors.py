"""Which positions a position selects: comparisons of keys with queries, joined by &, | and ~."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from espalier.errors import FAULTS, ProgramError

if TYPE_CHECKING:
    from espalier.rasp.expressions import Expression

Predicate = Callable[[Any, Any], object]


class _Selector:
    def __and__(self, other: Selector) -> Selector:
        return _join(self, other, operator.and_)

    def __or__(self, other: Selector) -> Selector:
        return _join(self, other, operator.or_)

    @property
    def compared(self) -> tuple[Expression, ...]:
        """The expressions that are keys or queries."""
        return tuple(node for part in self.parts for node in (part.keys, part.queries))

    @property
    def parts(self) -> tuple[Select, ...]:
        """The comparisons that it is joined of."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Select(_Selector):
    """Position i selects every j for which predicate(key at j, query at i) is true."""

    keys: Expression
    queries: Expression
    predicate: Predicate

    @property
    def parts(self) -> tuple[Select, ...]:
        """Itself alone."""
        return (self,)

    def __invert__(self) -> Select:
        return Select(self.keys, self.queries, lambda key, query: not self.predicate(key, query))

    def holds(self, key: Any, query: Any) -> bool:
        """Whether the query selects the key; None neither selects nor is selected."""
        if key is None or query is None:
            return False
        try:
            return bool(self.predicate(key, query))
        except FAULTS as error:
            raise ProgramError(
                f"a selector's predicate fails on key {key!r} and query {query!r}: "
                f"{type(error).__name__}: {error}. It must answer for every pair of values"
            ) from error


@dataclass(frozen=True, eq=False)
class Joined(_Selector):
    """What both of two selectors select, or either: `join` is `operator.and_` or `or_`."""

    left: Selector
    right: Selector
    join: Callable[[Any, Any], Any]

    @property
    def parts(self) -> tuple[Select, ...]:
        """Those of both sides, left before right."""
        return (*self.left.parts, *self.right.parts)

    def __invert__(self) -> Joined:
        other = operator.or_ if self.join is operator.and_ else operator.and_
        return Joined(~self.left, ~self.right, other)


Selector = Select | Joined


def check_selector(given: object) -> Selector:
    """`given` itself, if it is a selector."""
    if not isinstance(given, Selector):
        raise ProgramError(f"a selector is needed, made by select(...); found {given!r}")
    return given


def _join(left: _Selector, right: object, join: Callable[[Any, Any], Any]) -> Selector:
    one, other = check_selector(left), check_selector(right)
    match one, other:
        case Select(), Select() if one.keys is other.keys and one.queries is other.queries:
            if join is operator.and_:
                return Select(
                    one.keys, one.queries, lambda k, q: one.holds(k, q) and other.holds(k, q)
                )
            return Select(one.keys, one.queries, lambda k, q: one.holds(k, q) or other.holds(k, q))
        case _:
            return Joined(one, other, join)
