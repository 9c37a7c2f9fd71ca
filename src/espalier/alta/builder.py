"""The names of ALTA's `program_builder`; what they return are espalier's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from espalier import language
from espalier.alta.numbers import Unbucketed, with_buckets
from espalier.language import Halt, Head, Program, Rule, RuleBuilder, Variable

MLPBuilder = RuleBuilder
RELATIVE_QK = "relative_qk"  # query and key of a head by relative positions alone


def var(var_range: int, **settings: Any) -> Variable:
    """A categorical variable.

    >>> print(var(3, default=1))
    categorical, 3 values
    """
    return language.var(var_range, **settings)


def input_var(
    var_range: int, init_fn: Callable[[int], object] | None = None, **settings: Any
) -> Variable:
    """A categorical variable that starts as a function of the token, by default the token itself.

    >>> input_var(3).init.from_input(2)
    2
    """
    return language.var(var_range, input_init_fn=init_fn or _same, **settings)


def position_var(
    var_range: int, init_fn: Callable[[int], object] | None = None, **settings: Any
) -> Variable:
    """A categorical variable that starts as a function of the position, by default the position.

    >>> position_var(3).init.from_position(2)
    2
    """
    return language.var(var_range, position_init_fn=init_fn or _same, **settings)


def numeric_var(values: Iterable[float] | None = None, **settings: Any) -> Variable:
    """A numerical variable; without values `program_spec` finds its buckets.

    >>> numeric_var(values=(0, 0.5)).values
    (0.0, 0.5)
    """
    if values is not None:
        return language.numerical_var(values, **settings)
    return Unbucketed((0.0, 1.0), language.numerical_var((0, 1), **settings).init)


def set_var(values: Iterable[Iterable[int]], range: int = 32, **settings: Any) -> Variable:
    """A set variable.

    >>> set_var(values=[{0}, {0, 2}], range=3).size
    3
    """
    return language.set_var(values, range, **settings)


def qkv(
    query: str,
    key: str,
    value: str,
    relative_position_mask: Iterable[int] = frozenset(),
    output_spec: Variable | None = None,
) -> Head:
    """A head; an empty mask allows every position.

    >>> print(qkv("idx_left", "idx", "parity"))
    parity where idx_left = idx
    """
    mask = frozenset(relative_position_mask)
    if query == key == RELATIVE_QK and len(mask) == 1:
        return language.v_relative(value, next(iter(mask)), output_spec)
    return language.qkv(query, key, value, mask or None, output_spec)


def v_relative(value: str, position: int) -> Head:
    """A head that looks at one relative position.

    >>> print(v_relative("parity", -1))
    parity at -1
    """
    return language.v_relative(value, position)


def halt_spec(halt_var: str, halt_value: int = 1) -> Halt:
    """Halt when a variable has a value everywhere.

    >>> halt_spec("done")
    Halt(variable='done', value=1)
    """
    return language.halt_spec(halt_var, halt_value)


def program_spec(
    variables: Mapping[str, Variable],
    heads: Mapping[str, Head],
    ffn_fn: Callable[[Any], None],
    output_name: str,
    input_range: int,
    position_range: int | None = None,
    halt: Halt | None = None,
    generate_rules: bool = True,
) -> Program:
    """A program from a function; its rules are found along the paths it takes.

    Without `generate_rules` they are found when they are needed.

    >>> def flip(z):
    ...     z["x"] = 1 - z["x"]
    >>> len(program_spec({"x": input_var(2)}, {}, flip, "x", 2).rules)
    2
    """
    ranges = input_range, position_range
    variables, heads = with_buckets(variables, heads, ranges)
    return language.program_spec(
        variables,
        heads,
        ffn_fn=ffn_fn,
        rules=None if generate_rules else "lazy",
        output_name=output_name,
        input_range=input_range,
        position_range=position_range,
        halt_spec=halt,
    )


def program_spec_from_rules(
    variables: Mapping[str, Variable],
    heads: Mapping[str, Head],
    rules: Iterable[Rule],
    output_name: str,
    input_range: int,
    position_range: int | None = None,
    halt: Halt | None = None,
) -> Program:
    """A program from the rules of an `MLPBuilder`.

    >>> variables = {"x": input_var(2)}
    >>> builder = MLPBuilder(variables, {})
    >>> for x in builder.get("x"):
    ...     builder.set("x", 1 - x)
    >>> len(program_spec_from_rules(variables, {}, builder.rules, "x", 2).rules)
    2
    """
    return language.program_spec(
        variables,
        heads,
        rules=rules,
        output_name=output_name,
        input_range=input_range,
        position_range=position_range,
        halt_spec=halt,
    )


def _same(index: int) -> int:
    return index
