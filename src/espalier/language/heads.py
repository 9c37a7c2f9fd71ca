"""Attention heads and the halting condition.

A head names the variables that query, are queried and are carried; its output is a variable of
its own, null at the start of every layer. Names are resolved when the program is built.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from espalier.errors import ProgramError
from espalier.language.variables import Categorical, Numerical, Variable, as_integer, as_items

# No sequence is so long that a head could look farther.
FARTHEST = 1_000_000


@dataclass(frozen=True)
class Head:
    """Position i selects every j whose key equals its query, and j - i in `relative_positions`.

    A `query` and `key` of None match everywhere; `relative_positions` of None allows all.
    """

    query: str | None
    key: str | None
    value: str
    relative_positions: frozenset[int] | None = None
    output_spec: Categorical | Numerical | None = None

    def __str__(self) -> str:
        match = f" where {self.query} = {self.key}" if self.query is not None else ""
        if self.relative_positions is None:
            return f"{self.value}{match}"
        offsets = sorted(self.relative_positions)
        shown = ", ".join(f"{offset:+d}" for offset in offsets[:8])
        return f"{self.value}{match} at {shown}{', ...' if len(offsets) > 8 else ''}"


@dataclass(frozen=True)
class Halt:
    """A sequence is done after a layer when every position has `variable` = `value`.

    In a causal program a position that has it after a layer keeps its state from then on: what it
    is must not depend on how much text follows, so it cannot wait for the others.
    """

    variable: str
    value: int


def qkv(
    query: str,
    key: str,
    value: str,
    relative_positions: Iterable[int] | None = None,
    output_spec: Variable | None = None,
) -> Head:
    """A head that carries `value` from the positions whose `key` equals (or is in) `query`.

    >>> print(qkv("query", "key", "value"))
    value where query = key
    """
    for role, name in (("query", query), ("key", key), ("value", value)):
        _check_name(role, name)
    offsets = None
    if relative_positions is not None:
        given: object = relative_positions
        if hasattr(given, "__index__") and getattr(given, "ndim", 0) == 0:
            given = [given]
        items = as_items(given, f"the relative positions of the head for {value!r}")
        offsets = frozenset(as_integer(o, "a relative position") for o in items)
        _check_reach(value, offsets)
        if not offsets:
            raise ProgramError(
                f"the head for {value!r} has an empty set of relative positions and would attend "
                "to nothing; leave it out to allow every position"
            )
    return Head(query, key, value, offsets, _check_output(value, output_spec))


def v_relative(value: str, relative_position: int, output_spec: Variable | None = None) -> Head:
    """A head that carries `value` from the position `relative_position` to the right of each.

    >>> print(v_relative("parity", -1))
    parity at -1
    """
    _check_name("value", value)
    offset = as_integer(relative_position, "the relative position")
    _check_reach(value, frozenset([offset]))
    return Head(None, None, value, frozenset([offset]), _check_output(value, output_spec))


def halt_spec(variable: str, halt_value: int = 1) -> Halt:
    """Halt a sequence after the first layer at whose end `variable` is `halt_value` everywhere.

    >>> halt_spec("done", halt_value=1)
    Halt(variable='done', value=1)
    """
    _check_name("halt variable", variable)
    return Halt(variable, as_integer(halt_value, "the halt value"))


def _check_reach(value: str, offsets: frozenset[int]) -> None:
    far = [offset for offset in offsets if abs(offset) > FARTHEST]
    if far:
        raise ProgramError(
            f"the head for {value!r} looks {far[0]:,} positions away; at most {FARTHEST:,} is "
            "possible"
        )


def _check_name(role: str, name: object) -> None:
    if not isinstance(name, str):
        raise ProgramError(f"the {role} must be the name of a variable; found {name!r}")


def _check_output(value: str, spec: Variable | None) -> Categorical | Numerical | None:
    if spec is not None and not isinstance(spec, Categorical | Numerical):
        raise ProgramError(
            f"the output of the head for {value!r} must be categorical or numerical; found {spec}"
        )
    if spec is not None and (spec.init.from_input or spec.init.from_position):
        raise ProgramError(
            f"the output of the head for {value!r} starts as null; drop its init function"
        )
    return spec
