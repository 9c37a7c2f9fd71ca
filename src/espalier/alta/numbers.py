"""Buckets for numbers declared without any: their first values, and means of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from espalier.errors import ProgramError
from espalier.language import Head, Numerical, Variable

Ranges = tuple[int, int | None]  # of tokens and of positions


@dataclass(frozen=True)
class Unbucketed(Numerical):
    """A numerical variable whose values were not given."""


def with_buckets(
    variables: Mapping[str, Variable], heads: Mapping[str, Head], ranges: Ranges
) -> tuple[dict[str, Variable], dict[str, Head]]:
    """The same with a bucket for each number that a variable starts as or a head may report.

    The variables are taken to be what they start as, one of two numbers.
    """
    found, open_heads = dict(variables), dict(heads)
    for name, variable in variables.items():
        if isinstance(variable, Unbucketed):
            found[name] = Numerical(_numbers(name, variable, ranges), variable.init)
    for name, head in heads.items():
        value = found.get(head.value)
        is_open = head.output_spec is None and isinstance(variables.get(head.value), Unbucketed)
        if is_open or isinstance(head.output_spec, Unbucketed):
            assert isinstance(value, Numerical)
            means = _means(name, value.values, ranges[1])
            open_heads[name] = replace(head, output_spec=Numerical(means, value.init))
    return found, open_heads


def _numbers(name: str, variable: Unbucketed, ranges: Ranges) -> tuple[float, ...]:
    init, (tokens, positions) = variable.init, ranges
    if init.from_input is not None:
        numbers = {float(init.from_input(token)) for token in range(tokens)}  # type: ignore[arg-type]
    elif init.from_position is not None:
        places = range(positions or 0)
        numbers = {float(init.from_position(place)) for place in places}  # type: ignore[arg-type]
    else:
        numbers = {float(init.default)}  # type: ignore[arg-type]
    if len(numbers) != 2:
        raise ProgramError(
            f"{name!r} has no values, and starts as one of {len(numbers)} numbers: two would be "
            "its buckets; say values=(...)"
        )
    return tuple(sorted(numbers))


def _means(name: str, values: tuple[float, ...], positions: int | None) -> tuple[float, ...]:
    if positions is None or len(values) != 2:
        raise ProgramError(
            f"head {name!r} averages numbers, and what it may report is known for two of them and "
            "a position_range; give it output_spec=numeric_var(values=...)"
        )
    low, high = values
    shares = {k / n for n in range(1, positions + 1) for k in range(n + 1)}
    return tuple(sorted(low + (high - low) * share for share in shares))
