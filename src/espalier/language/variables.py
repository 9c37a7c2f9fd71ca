"""What a variable is: categorical, numerical or set-valued, and where its first value comes from.

A variable has finitely many `values` that rules can tell apart, numbered by their place in that
tuple (their *code*). A numerical variable may hold any real number; rules see the nearest of its
declared values, its *buckets*.
"""

from __future__ import annotations

import bisect
import itertools
import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from espalier.errors import ProgramError, is_one_of, listed
from espalier.language.exact import meant

Value = int | float | frozenset[int]
InitFunction = Callable[[int], object]

# No collection that is given is larger; a longer one is taken to be endless.
MOST_ITEMS = 4_000_000

# A value costs a dimension of the residual stream; a larger number is taken for a mistake.
MOST_VALUES = 1_000_000

OUT_OF_RANGE = ("refuse", "saturate", "wrap")


@dataclass(frozen=True)
class Init:
    """The first value of a variable: a function of the token, of the position, or `default`."""

    default: Value
    from_input: InitFunction | None = None
    from_position: InitFunction | None = None

    def __post_init__(self) -> None:
        for name, function in (
            ("input_init_fn", self.from_input),
            ("position_init_fn", self.from_position),
        ):
            if function is not None and not callable(function):
                raise ProgramError(f"{name} must be a function of one integer; found {function!r}")
        if self.from_input is not None and self.from_position is not None:
            raise ProgramError(
                "a variable has both an input_init_fn and a position_init_fn; give one of them, "
                "and combine the two values with a rule"
            )


@dataclass(frozen=True)
class Categorical:
    """An integer from 0 to `size` - 1; `out_of_range` is what a rule's write beyond them means."""

    size: int
    init: Init
    out_of_range: str = "refuse"

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ProgramError(f"var needs a range of at least 1; found {self.size}")
        check_size("the range of var", self.size)
        if not is_one_of(self.out_of_range, OUT_OF_RANGE):
            raise ProgramError(
                f"out_of_range is one of {', '.join(OUT_OF_RANGE)}; found {self.out_of_range!r}"
            )

    @cached_property
    def values(self) -> tuple[int, ...]:
        """Every value, in order of its code."""
        return tuple(range(self.size))

    def check(self, value: object) -> int:
        """`value` as a plain integer of the range; ProgramError otherwise."""
        number = as_integer(value)
        if not 0 <= number < self.size:
            raise ProgramError(f"{number} is outside the range 0..{self.size - 1}")
        return number

    check_initial = check

    def check_written(self, value: object) -> int:
        """The value that a rule's write of `value` leaves, by `out_of_range`."""
        match self.out_of_range:
            case "saturate":
                return min(max(as_integer(value), 0), self.size - 1)
            case "wrap":
                return as_integer(value) % self.size
        return self.check(value)

    def code(self, value: object) -> int:
        """The place of `value` among `values`."""
        return self.check(value)

    def __str__(self) -> str:
        beyond = "" if self.out_of_range == "refuse" else f", {self.out_of_range}s"
        return f"categorical, {self.size} values{beyond}"


@dataclass(frozen=True)
class Numerical:
    """A real number, which rules see as the nearest of its sorted `values`."""

    values: tuple[float, ...]
    init: Init

    def __post_init__(self) -> None:
        if len(self.values) < 2:
            raise ProgramError(
                f"a numerical variable needs at least two buckets; found {len(self.values)}"
            )
        for low, high in itertools.pairwise(self.values):
            if not low < high:
                raise ProgramError(
                    f"the buckets of a numerical variable must rise; found {low:g} before "
                    f"{high:g}: sort them and drop repeats"
                )

    @cached_property
    def midpoints(self) -> tuple[Fraction, ...]:
        """Where one bucket ends, exactly; a midpoint itself belongs to the lower bucket."""
        exact = map(meant, self.values)
        return tuple((low + high) / 2 for low, high in itertools.pairwise(exact))

    @cached_property
    def boundaries(self) -> tuple[float, ...]:
        """The largest float of each bucket but the last, which places every float exactly."""
        nearest = ((float(middle), middle) for middle in self.midpoints)
        return tuple(
            below if meant(below) <= middle else math.nextafter(below, -math.inf)
            for below, middle in nearest
        )

    def bucket(self, number: Fraction | float) -> int:
        """The code of the value nearest to `number`, by exact arithmetic; a tie goes down."""
        if isinstance(number, Fraction):
            return bisect.bisect_left(self.midpoints, number)
        return bisect.bisect_left(self.boundaries, number)

    def check(self, value: object) -> float:
        """`value` as one of the buckets; ProgramError otherwise."""
        number = as_real(value)
        found = self.values[self.bucket(number)]
        if not math.isclose(found, number, rel_tol=1e-9, abs_tol=1e-12):
            raise ProgramError(
                f"{number:g} is not one of the {len(self.values)} declared values; "
                f"the nearest is {found:g}"
            )
        return found

    check_written = check

    def check_initial(self, value: object) -> float:
        """`value` as any finite real: a first value need not be a bucket."""
        return as_real(value)

    def code(self, value: object) -> int:
        """The place of `value` among `values`."""
        return self.bucket(self.check(value))

    def __str__(self) -> str:
        return f"numerical, {len(self.values)} buckets"


@dataclass(frozen=True)
class SetValued:
    """One of the declared sets of integers from 0 to `size` - 1."""

    size: int
    values: tuple[frozenset[int], ...]
    init: Init

    @cached_property
    def _codes(self) -> dict[frozenset[int], int]:
        return {value: code for code, value in enumerate(self.values)}

    def check(self, value: object) -> frozenset[int]:
        """`value` as one of the declared sets; ProgramError otherwise."""
        found = as_set(value)
        if found not in self._codes:
            shown = listed(map(show_value, self.values), most=8)
            raise ProgramError(f"{show_value(found)} is not a declared set: {shown}")
        return found

    check_initial = check
    check_written = check

    def code(self, value: object) -> int:
        """The place of `value` among `values`."""
        return self._codes[self.check(value)]

    def __str__(self) -> str:
        values = "value" if len(self.values) == 1 else "values"
        return f"set, {len(self.values)} {values} over {self.size} elements"


Variable = Categorical | Numerical | SetValued


def var(
    range: int,
    *,
    default: object = 0,
    input_init_fn: InitFunction | None = None,
    position_init_fn: InitFunction | None = None,
    out_of_range: str = "refuse",
) -> Categorical:
    """A categorical variable with values 0 to `range` - 1.

    A rule that writes a value beyond them is refused; or with `out_of_range="saturate"` writes the
    nearest value, with `"wrap"` the remainder. First values are never changed, only refused.

    >>> print(var(3, default=1))
    categorical, 3 values
    """
    size = as_integer(range, "the range of var")
    spec = Categorical(size, Init(0, input_init_fn, position_init_fn), out_of_range)
    return replace(spec, init=_with_default(spec, default))


def numerical_var(
    values: Iterable[float],
    *,
    default: object = 0.0,
    input_init_fn: InitFunction | None = None,
    position_init_fn: InitFunction | None = None,
) -> Numerical:
    """A numerical variable whose buckets are `values`: at least two, sorted, all different.

    >>> numerical_var((0, 0.5, 1)).values
    (0.0, 0.5, 1.0)
    """
    buckets = tuple(as_real(value) for value in as_items(values, "the values of numerical_var"))
    spec = Numerical(buckets, Init(0.0, input_init_fn, position_init_fn))
    return Numerical(buckets, _with_default(spec, default))


def set_var(
    values: Iterable[Iterable[int]] | int,
    range: int | Iterable[Iterable[int]] | None = None,
    *,
    default: object = None,
    input_init_fn: InitFunction | None = None,
    position_init_fn: InitFunction | None = None,
) -> SetValued:
    """A set variable whose possible values are the sets `values`, over 0 to `range` - 1.

    Without a range it is the least that holds every element; without a default it is the empty
    set where that is declared, else the first set. `set_var(range, values)` means the same.

    >>> set_var(3, [{0}, {0, 2}]).size
    3
    """
    if hasattr(values, "__index__") and not hasattr(range, "__index__"):
        values, range = range, values  # type: ignore[assignment]
    sets = tuple(as_set(value) for value in as_items(values, "the values of set_var"))
    if not sets:
        raise ProgramError("set_var needs at least one set among its values; found none")
    if len(set(sets)) < len(sets):
        repeated = next(value for value in sets if sets.count(value) > 1)
        raise ProgramError(f"set_var declares {show_value(repeated)} twice; drop one")
    top = max((max(value, default=0) for value in sets), default=0) + 1
    size = top if range is None else as_integer(range, "the range of set_var")
    check_size("the range of set_var", size)
    if size < top:
        raise ProgramError(f"set_var has range {size}, but a set holds {top - 1}; raise the range")
    spec = SetValued(size, sets, Init(sets[0], input_init_fn, position_init_fn))
    if default is None:
        default = frozenset() if frozenset() in sets else sets[0]
    return SetValued(size, sets, _with_default(spec, default))


def _with_default(spec: Variable, default: object) -> Init:
    try:
        value = spec.check_initial(default)
    except ProgramError as error:
        raise ProgramError(f"default: {error}") from None
    return Init(value, spec.init.from_input, spec.init.from_position)


def without_functions(spec: Variable) -> Variable:
    """The variable with its default alone, for a program that has made tables of the functions."""
    return replace(spec, init=Init(spec.init.default))


def as_integer(value: object, what: str = "the value") -> int:
    """`value` as an int, if it is an integer or a truth value of any library."""
    if type(value) is int:
        return value
    number = _plain(value)
    if isinstance(number, float | str | bytes) or not hasattr(number, "__index__"):
        raise ProgramError(f"{what} must be an integer; found {type(number).__name__} {value!r}")
    try:
        return operator.index(number)
    except TypeError as error:
        raise ProgramError(f"{what} must be an integer; found {value!r} ({error})") from None


def as_real(value: object) -> float:
    """`value` as a finite float."""
    number = _plain(value)
    if not isinstance(number, int | float):
        raise ProgramError(f"the value must be a number; found {type(number).__name__} {value!r}")
    try:
        found = float(number)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise ProgramError(f"the value must be finite; found {value!r}")
    return found


def as_items(values: object, what: str) -> list[object]:
    """What a collection holds; ProgramError if it is none, is text, or is endless."""
    if isinstance(values, str | bytes):
        raise ProgramError(f"{what} must be a collection; found {values!r}")
    if isinstance(values, list | tuple):
        return list(values)
    try:
        found = list(itertools.islice(values, MOST_ITEMS + 1))  # type: ignore[call-overload]
    except TypeError:
        raise ProgramError(f"{what} must be a collection; found {values!r}") from None
    if len(found) > MOST_ITEMS:
        raise ProgramError(
            f"{what} may hold {MOST_ITEMS:,} items at most; found more, or an iterator without "
            f"end: {type(values).__name__}"
        )
    return found


def check_size(what: str, size: int) -> None:
    """Refuse a number of values that no machine could hold."""
    if size > MOST_VALUES:
        raise ProgramError(f"{what} is {size:,}; at most {MOST_VALUES:,} is possible")


def as_set(value: object) -> frozenset[int]:
    """`value` as a frozen set of non-negative integers."""
    elements = as_items(value, "a set")
    found = frozenset(as_integer(element, "an element of a set") for element in elements)
    if any(element < 0 for element in found):
        raise ProgramError(f"a set may not hold negative numbers; found {show_value(found)}")
    return found


def _plain(value: object) -> object:
    """A 0-d number of numpy or torch as Python's own; anything else as it is."""
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return value.item()
    return value


def show_value(value: Value | None) -> str:
    """A value as it is shown: 3, 0.25, {1,2}, ∅."""
    match value:
        case None:
            return "∅"
        case frozenset():
            return "{" + ",".join(map(str, sorted(value))) + "}"
        case float():
            return f"{value:.4g}"
        case _:
            return str(value)
