"""What is known of one expression: its possible values, their origin, and when they are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

from espalier.errors import FAULTS, ProgramError
from espalier.rasp.expressions import Expression, Map


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


class Reach(Enum):
    """How far a selection goes, seen from the position that selects."""

    ALL = "all"
    UP_TO = "up to itself"
    BEFORE = "before itself"


@dataclass(frozen=True, eq=False)
class Part:
    """The keys that each query selects, within a reach; counted, or taken off a count."""

    keys: Expression
    queries: Expression
    table: Mapping[Any, tuple[Any, ...]]
    reach: Reach = Reach.ALL
    sign: int = 1

    def same_as(self, other: Part) -> bool:
        """Whether two parts select the same."""
        nodes = self.keys is other.keys and self.queries is other.queries
        return nodes and (self.reach, self.table) == (other.reach, other.table)


@dataclass(frozen=True, eq=False)
class Fact:
    """Possible values, the layer after which they are known, and where they come from."""

    values: tuple[Any, ...]
    layer: int
    origin: ByToken | ByIndex | Computed
    form: Expression  # what is translated in place of the expression, most often itself
    parts: tuple[Part, ...] = ()  # of a head's selection
    means: Mapping[Fraction, Any] | None = None  # of an aggregate that averages: values by mean

    @property
    def is_head(self) -> bool:
        """Whether rules find the value in the output of one head."""
        return len(self.parts) == 1


Facts = dict[Expression, Fact]


def apply(node: Map, values: Mapping[Expression, Any]) -> Any:
    """The value of a map where its operands have `values`; None if one of them is None."""
    given = [values[operand] for operand in node.operands]
    if not node.sees_none and any(value is None for value in given):
        return None
    try:
        found = node.function(*given)
        hash(found)
    except FAULTS as error:
        shown = ", ".join(map(repr, given))
        raise ProgramError(
            f"the function of {node.label or 'an elementwise expression'} fails on ({shown}): "
            f"{type(error).__name__}: {error}. It must answer for every combination of values"
        ) from error
    return found


def as_fraction(value: Any) -> Fraction:
    """The exact number, if it is one and a float can hold it nearly."""
    try:
        if isinstance(value, str):
            raise TypeError
        number = Fraction(value)
        float(value)
    except (TypeError, ValueError, OverflowError):
        raise ProgramError(
            f"mean needs numbers that are finite; found {value!r}; map the values to such numbers"
        ) from None
    return number


def is_number(value: Any) -> bool:
    """Whether a value can be averaged."""
    try:
        as_fraction(value)
    except ProgramError:
        return False
    return True
