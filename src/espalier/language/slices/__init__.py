"""A function followed once for all values: each name that it uses holds a decision tree.

Following every path of a function costs their number, and n unrelated updates multiply. Here its
bytecode is run on trees instead of values. Where a branch depends on what was read, both sides are
run, each under its guard, and where they join again every name is a tree that asks the
guard only if the sides differ in it. So a variable's tree asks for what its own value needs, and
the cost follows the rules.

Functions that are handed the view are run in the same way; any other is called with each
combination of values that can reach it, and must depend on nothing else. What is not understood
(exceptions that are caught, objects that are changed in place, an unknown instruction) raises a
`FollowingError`, and the function is explored path by path.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import cast

from espalier.language.slices.calls import call
from espalier.language.slices.flow import HANDLERS
from espalier.language.slices.machine import (
    SUBJECT,
    Frame,
    Machine,
    NotUnderstoodError,
    State,
    null_is_tested,
)
from espalier.language.trees import ALWAYS, Forest, Tree

__all__ = ["NotUnderstoodError", "follow", "null_is_tested"]


def follow(
    function: Callable[..., object], forest: Forest, heads: frozenset[str]
) -> dict[str, Tree]:
    """What `function` writes to each variable, as trees of `forest`."""
    called: object = function
    if not isinstance(function, types.FunctionType | types.MethodType | functools.partial):
        called = getattr(function, "__call__")  # noqa: B004, B009 - the method is what is run
    machine = Machine(forest, heads, HANDLERS)
    try:
        outside = Frame(cast(types.FunctionType, follow))
        call(machine, outside, State(ALWAYS, {}), forest.leaf(called), ([SUBJECT], {}))
    except RecursionError:
        raise NotUnderstoodError("trees that are too deep") from None
    return machine.writes
