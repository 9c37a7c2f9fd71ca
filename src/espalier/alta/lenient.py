"""The names of `espalier.alta` for programs whose rules say more than their runs ever do.

ALTA's rules may write beyond a variable's range or set it to None, and its functions may raise, in
states that no run reaches. Here such a write saturates, a builder's write of None is left out, and
a path on which a function raises an arithmetic or lookup error changes nothing. Of two rules that
could hold together, which ALTA refuses only when they do, the second is narrowed. A warning names
what is left out; where a run does reach such a state, it differs from ALTA's.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from typing import Any

from espalier.alta import builder
from espalier.alta.builder import (
    RELATIVE_QK,
    halt_spec,
    numeric_var,
    qkv,
    set_var,
    v_relative,
)
from espalier.alta.exclusion import exclude
from espalier.language import Halt, Head, Program, Rule, RuleBuilder, Variable

__all__ = [
    "RELATIVE_QK",
    "MLPBuilder",
    "halt_spec",
    "input_var",
    "numeric_var",
    "position_var",
    "program_spec",
    "program_spec_from_rules",
    "qkv",
    "set_var",
    "v_relative",
    "var",
]


def var(var_range: int, **settings: Any) -> Variable:
    """A categorical variable in which writes beyond the range saturate.

    >>> print(var(3))
    categorical, 3 values, saturates
    """
    return builder.var(var_range, **{"out_of_range": "saturate"} | settings)


def input_var(
    var_range: int, init_fn: Callable[[int], object] | None = None, **settings: Any
) -> Variable:
    """The same, started as a function of the token.

    >>> input_var(3).init.from_input(2)
    2
    """
    return builder.input_var(var_range, init_fn, **{"out_of_range": "saturate"} | settings)


def position_var(
    var_range: int, init_fn: Callable[[int], object] | None = None, **settings: Any
) -> Variable:
    """The same, started as a function of the position.

    >>> position_var(3).init.from_position(2)
    2
    """
    return builder.position_var(var_range, init_fn, **{"out_of_range": "saturate"} | settings)


class MLPBuilder(RuleBuilder):
    """A builder that leaves out rules that set a variable to None.

    >>> x = MLPBuilder({"x": var(2)}, {})
    >>> for old in x.get("x"):
    ...     x.set("x", old + 1)
    >>> len(x.rules)
    1
    """

    def set(self, name: str, value: object) -> None:
        """Write `value` to `name` wherever the open loops' values hold, unless it is None."""
        if value is None:
            _warn(f"a rule that sets {name!r} to None is left out")
        else:
            super().set(name, value)


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
    """A program from a function; paths on which it raises are left out.

    >>> def halve(z):
    ...     z["x"] = 2 // z["x"]
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     [str(rule) for rule in program_spec({"x": input_var(3)}, {}, halve, "x", 3).rules]
    ['x: 1 -> 2', 'x: 2 -> 1']
    """
    return builder.program_spec(
        variables,
        heads,
        lambda z: _try(ffn_fn, z),
        output_name,
        input_range,
        position_range,
        halt,
        generate_rules,
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
    """A program from rules; of two that could hold together one is narrowed.

    >>> rules = [Rule({"a": 1}, "x", 0, 1), Rule({"b": 1}, "x", 0, 2)]
    >>> variables = {"a": var(2), "b": var(2), "x": var(3)}
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     [str(r) for r in program_spec_from_rules(variables, {}, rules, "x", 1).rules]
    ['x: 0 -> 1 if a = 1', 'x: 0 -> 2 if b = 1, a = 0']
    """
    found, narrowed = exclude(rules, variables)
    if narrowed:
        _warn(f"{narrowed:,} rules that could hold together with others do not hold there")
    return builder.program_spec_from_rules(
        variables, heads, found, output_name, input_range, position_range, halt
    )


class _Draft(dict[str, Any]):
    """What a function writes, and what it reads elsewhere."""

    def __init__(self, read: MutableMapping[str, Any]) -> None:
        self.read = read

    def __missing__(self, name: str) -> Any:
        return self.read[name]


def _try(function: Callable[[Any], None], z: MutableMapping[str, Any]) -> None:
    draft = _Draft(z)
    try:
        function(draft)
    except (ArithmeticError, LookupError) as error:
        _warn(f"a path on which the function raises {type(error).__name__} is left out")
        return
    for name, value in draft.items():
        z[name] = value


def _warn(what: str) -> None:
    warnings.warn(what, stacklevel=4)
