"""Python's operators on expressions: each makes an elementwise expression, as in Tracr.

`&`, `|` and `~` are Python's `and`, `or` and `not` at each position. `/`, `//`, `%` and `**` give
None where arithmetic has no answer, such as a division by zero. A truth value of an expression
itself does not exist, so `and`, `or`, `not`, `if`, `in` and `0 < x < 3` are refused.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

from espalier.errors import ProgramError

if TYPE_CHECKING:
    from espalier.rasp.expressions import Map

Function = Callable[..., Any]


def _both(one: Any, other: Any) -> Any:
    return one and other


def _either(one: Any, other: Any) -> Any:
    return one or other


def _or_none(function: Function) -> Function:
    """The function, with None where arithmetic fails."""

    def attempt(*values: Any) -> Any:
        try:
            return function(*values)
        except ArithmeticError:
            return None

    return attempt


def _unary(function: Function) -> Callable[[Any], Map]:
    return lambda self: self._elementwise(function)


def _binary(function: Function) -> Callable[[Any, object], Map]:
    return lambda self, other: self._elementwise(function, right=other)


def _reflected(function: Function) -> Callable[[Any, object], Map]:
    return lambda self, other: self._elementwise(function, left=other)


_divide, _floor = _or_none(operator.truediv), _or_none(operator.floordiv)
_remainder, _power = _or_none(operator.mod), _or_none(operator.pow)


class Operators:
    """Elementwise operators, in terms of `_elementwise(function, left=..., right=...)`."""

    __eq__ = _binary(operator.eq)  # type: ignore[assignment]
    __ne__ = _binary(operator.ne)  # type: ignore[assignment]
    __lt__, __le__ = _binary(operator.lt), _binary(operator.le)
    __gt__, __ge__ = _binary(operator.gt), _binary(operator.ge)
    __add__, __radd__ = _binary(operator.add), _reflected(operator.add)
    __sub__, __rsub__ = _binary(operator.sub), _reflected(operator.sub)
    __mul__, __rmul__ = _binary(operator.mul), _reflected(operator.mul)
    __truediv__, __rtruediv__ = _binary(_divide), _reflected(_divide)
    __floordiv__, __rfloordiv__ = _binary(_floor), _reflected(_floor)
    __mod__, __rmod__ = _binary(_remainder), _reflected(_remainder)
    __pow__, __rpow__ = _binary(_power), _reflected(_power)
    __and__, __rand__ = _binary(_both), _reflected(_both)
    __or__, __ror__ = _binary(_either), _reflected(_either)
    __invert__, __neg__ = _unary(operator.not_), _unary(operator.neg)
    __pos__, __abs__ = _unary(operator.pos), _unary(operator.abs)

    # By identity: of two expressions alive at a time no two hashes are equal, so that a dict or a
    # set of expressions never asks the elementwise `==`.
    __hash__ = object.__hash__

    def __bool__(self) -> NoReturn:
        raise ProgramError(
            "an expression has a value at each position and no truth value of its own; write "
            "x & y, x | y, ~x or (0 < x) & (x < 3) in place of and, or, not, if, in and chained "
            "comparisons, and `is` to ask whether two expressions are the same"
        )


def is_exactly_linear(function: Function, constants: list[object]) -> bool:
    """Whether an operator is linear in its other operands, in exact arithmetic."""
    exact = all(type(constant) in (int, Fraction) for constant in constants)
    linear = (operator.add, operator.sub, operator.neg, *((operator.mul,) if constants else ()))
    return exact and function in linear
