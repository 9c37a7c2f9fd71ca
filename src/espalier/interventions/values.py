"""Which values a place can be given, and as what number a machine holds them."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from fractions import Fraction

from espalier.errors import ProgramError, nearest
from espalier.language import Numerical, Program, SetValued, Value, meant, show_value

NULL = -1
# A number that was read from float32 weights may be beyond the range by its rounding.
ROUNDING = 1e-5
# So many means lie so close together that any number is as good as one of them.
MOST_MEANS = 20_000


def settable(program: Program, variable: str) -> tuple[Value | None, ...]:
    """The declared values that `Set` takes for a variable, and None where it may be null.

    >>> import espalier as es
    >>> settable(es.zoo.load("parity-sequential-relative").program, "parity")
    (0, 1, None)
    """
    spec = program.specs[variable]
    values: tuple[Value | None, ...] = spec.values
    if isinstance(spec, Numerical) and variable in program.heads:
        values = tuple(value for value in spec.values if _off(program, variable, value) == 0)
    return values if _why_not_null(program, variable) else (*values, None)


def check_variable(program: Program, name: object) -> str:
    """`name`, if the program has such a variable or head."""
    if not isinstance(name, str) or name not in program.specs:
        raise ProgramError(f"there is no variable {name!r}; {nearest(name, program.specs)}")
    return name


def code_of(program: Program, name: str, value: object) -> int | float:
    """What a machine holds for a value: its code, or a number; NULL or NaN for null."""
    spec = program.specs[name]
    if value is None:
        why = _why_not_null(program, name)
        if why:
            raise ProgramError(f"{name!r} cannot be null: {why}")
        return math.nan if isinstance(spec, Numerical) else NULL
    try:
        if not isinstance(spec, Numerical):
            return spec.code(value)
        return _mean(program, name, value) if name in program.heads else _held(program, name, value)
    except ProgramError as error:
        raise ProgramError(f"{name!r} cannot be {value!r}: {error}") from None


def value_of(program: Program, name: str, code: float) -> Value | None:
    """The value that a machine holds as `code`."""
    spec = program.specs[name]
    if isinstance(spec, Numerical):
        return None if math.isnan(code) else float(code)
    return None if code == NULL else spec.values[int(code)]


def average(program: Program, name: str, values: Sequence[Value | None]) -> Value | None:
    """What a head would report of these: a number, or what all agree on, or None for null."""
    spec = program.specs[name]
    if None in values:
        return None
    if not isinstance(spec, Numerical):
        return values[0] if all(value == values[0] for value in values) else None
    exact = sum((meant(float(v)) for v in values), Fraction(0)) / len(values)  # type: ignore[arg-type]
    if name in program.heads:
        return _nearest_report(program, name, float(exact))
    return spec.values[spec.bucket(exact)]


def _why_not_null(program: Program, name: str) -> str | None:
    match program.specs[name]:
        case Numerical() if name not in program.heads:
            return "only the output of a head distinguishes null from 0; set it to a number"
        case SetValued(values=values) if frozenset() in values:
            return "null and the empty set, which is one of its values, are the same; set it to {}"
    return None


def _held(program: Program, name: str, value: object) -> float:
    number = program.specs[name].check_initial(value)
    if number in program.held[name]:
        return float(number)
    return float(program.specs[name].check(value))  # type: ignore[arg-type]


def _mean(program: Program, name: str, value: object) -> float:
    number = float(program.specs[name].check_initial(value))  # type: ignore[arg-type]
    if _off(program, name, number) > ROUNDING * max(1, abs(number)):
        low, high = _carried(program, name)
        carried, near = program.heads[name].value, _nearest_report(program, name, number)
        raise ProgramError(
            f"no mean of {carried!r} that the head could report is that; they lie between "
            f"{show_value(low)} and {show_value(high)}, and the nearest is {near!r}"
        )
    return _nearest_report(program, name, number)


def _off(program: Program, head: str, number: float) -> float:
    return abs(_nearest_report(program, head, number) - number)


def _nearest_report(program: Program, head: str, number: float) -> float:
    """What a head may report that is nearest to a number; the lower of two."""
    low, high = _carried(program, head)
    number = min(max(number, low), high)
    known = program.derived(_reports)[head]
    if known is None:
        return number
    place = bisect.bisect_left(known, number)
    return min(known[max(0, place - 1) : place + 1], key=lambda near: (abs(near - number), near))


def _reports(program: Program) -> dict[str, tuple[float, ...] | None]:
    """All that each numerical head may report where it selects few positions; None: any mean."""
    names = [name for name in program.heads if isinstance(program.specs[name], Numerical)]
    return {name: _means(program, name) for name in names}


def _means(program: Program, name: str) -> tuple[float, ...] | None:
    offsets = program.heads[name].relative_positions
    limits = [program.position_range, None if offsets is None else len(offsets)]
    most = min((limit for limit in limits if limit is not None), default=None)
    held = [meant(number) for number in program.held[program.heads[name].value]]
    sums, found = {Fraction(0)}, set[float]()
    for count in range(1, (most or 0) + 1):
        sums = {total + number for total in sums for number in held}
        found |= {float(total / count) for total in sums}
        if len(found) > MOST_MEANS:
            return None
    return tuple(sorted(found)) if found else None


def _carried(program: Program, head: str) -> tuple[float, float]:
    held = program.held[program.heads[head].value]
    return held[0], held[-1]
