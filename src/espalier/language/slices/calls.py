"""Calls and attributes, where arguments are trees: what is run on trees and what on values."""

from __future__ import annotations

import builtins
import copy
import functools
import inspect
import itertools
import operator
import types
from collections.abc import Callable, Iterable
from typing import Any

from espalier.language.slices.machine import (
    SUBJECT,
    Closure,
    Entries,
    Frame,
    Items,
    Machine,
    Method,
    NotUnderstoodError,
    Position,
    State,
    Subject,
)
from espalier.language.trees import Leaf, Tree

Arguments = tuple[list[Tree], dict[str, Tree]]
Structured = Callable[..., Tree]

LONGEST = 100_000

# What can be asked of a list, dictionary or set without changing it.
HARMLESS = frozenset(
    {
        *("index", "count", "copy", "get", "keys", "items", "values", "union", "intersection"),
        *("difference", "symmetric_difference", "issubset", "issuperset", "isdisjoint"),
    }
)


def elements(machine: Machine, tree: Tree) -> tuple[Tree, ...]:
    """What iterating over a tree with one leaf gives."""
    if not isinstance(tree, Leaf):
        raise NotUnderstoodError("a collection that depends on values")
    match tree.value:
        case Items(_, trees):
            return tuple(trees)
        case Position(trees, place):
            return tuple(trees[place:])
        case Entries(trees):
            return tuple(machine.forest.leaf(key) for key in trees)
        case Subject():
            return tuple(machine.forest.leaf(name) for name in machine.forest.variables)
        case Closure() | Method():
            raise NotUnderstoodError("a function that is iterated over")
        case value if hasattr(value, "__next__"):
            raise NotUnderstoodError("an iterator that others may use")
        case value:
            items = list(itertools.islice(value, LONGEST + 1))  # type: ignore[call-overload]
            if len(items) > LONGEST:
                raise NotUnderstoodError("a loop that is too long")
            return tuple(map(machine.forest.leaf, items))


def load_attribute(machine: Machine, state: State, tree: Tree, name: str) -> Tree:
    """The attribute `name` of what is in the tree."""
    if tree is SUBJECT:
        return machine.forest.leaf(Method(name))
    return machine.apply(state, lambda value: _attribute(value, name), tree)


def _attribute(value: object, name: str) -> object:
    if isinstance(value, list | dict | set | bytearray) and name not in HARMLESS:
        raise NotUnderstoodError("an object that is changed in place")
    return getattr(value, name)


def call(
    machine: Machine, frame: Frame, state: State, function: Tree, arguments: Arguments
) -> Tree:
    """What a call returns; a function that is handed the view is run on trees."""
    positional, named = arguments
    target = function.value if isinstance(function, Leaf) else None
    if isinstance(target, functools.partial):
        leaf = machine.forest.leaf
        more = {name: leaf(value) for name, value in target.keywords.items()}
        both = ([*map(leaf, target.args), *positional], {**more, **named})
        return call(machine, frame, state, leaf(target.func), both)
    if isinstance(target, types.MethodType):
        positional = [machine.forest.leaf(target.__self__), *positional]
        target = target.__func__
    match target:
        case Method(name):
            return _view_method(machine, state, name, (positional, named))
        case Closure(made, home):
            if home is not frame:
                raise NotUnderstoodError("a function made inside that is called elsewhere")
            cells = {n: state.names[n] for n in made.__code__.co_freevars if n in state.names}
            return _inline(machine, state, made, (positional, named), cells)
        case types.FunctionType() if SUBJECT in (*positional, *named.values()):
            return _inline(machine, state, target, (positional, named), _cells(machine, target))
    found = None
    if not named or (target is builtins.zip and list(named) == ["strict"]):
        found = _call_structured(machine, state, target, positional)
    if found is not None:
        return found
    names, given = list(named), [*positional, *named.values()]
    machine.expect(given)
    shared = {id(tree.value) for tree in given if isinstance(tree, Leaf)}
    return machine.apply(
        state,
        lambda called, *values: _call_plainly(called, values, names, shared),
        function if target is None else machine.forest.leaf(target),
        *given,
    )


def _call_plainly(
    function: Any, values: tuple[object, ...], names: list[str], shared: set[int]
) -> object:
    # Copies: a leaf is shared by all assignments that reach it.
    given = [copy.copy(value) if type(value) in (list, dict, set) else value for value in values]
    split = len(given) - len(names)
    result = function(*given[:split], **dict(zip(names, given[split:], strict=True)))
    for value, copied in zip(values, given, strict=True):
        # A table from outside: what the function did to it would be lost, and may be a coin's.
        if copied is not value and id(value) in shared and copied != value:
            raise NotUnderstoodError("an object that is changed in place")
    if inspect.isgenerator(result) or inspect.isawaitable(result):
        raise NotUnderstoodError("a generator")
    if hasattr(result, "__next__"):
        return tuple(itertools.islice(result, LONGEST))
    return result


def _cells(machine: Machine, function: types.FunctionType) -> dict[str, Tree]:
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    try:
        return {name: machine.forest.leaf(cell.cell_contents) for name, cell in cells}
    except ValueError:
        raise NotUnderstoodError("a name that is bound later") from None


def _inline(
    machine: Machine,
    state: State,
    function: types.FunctionType,
    arguments: Arguments,
    cells: dict[str, Tree],
) -> Tree:
    """What `function` returns when it is run on trees."""
    names = dict(cells)
    if ".0" in function.__code__.co_varnames[:1]:  # a comprehension, which has no signature
        names[".0"] = arguments[0][0]
        return machine.call(function, names, state.guard)
    bound = inspect.signature(function).bind(*arguments[0], **arguments[1])
    for name, parameter in inspect.signature(function).parameters.items():
        if name not in bound.arguments and parameter.default is not inspect.Parameter.empty:
            names[name] = machine.forest.leaf(parameter.default)
            continue
        given = bound.arguments.get(name)
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            given = machine.forest.leaf(Items(tuple, tuple(given or ())))
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            given = machine.forest.leaf(Entries(dict(given or {})))
        assert given is not None
        names[name] = given
    return machine.call(function, names, state.guard)


def _view_method(machine: Machine, state: State, name: str, arguments: Arguments) -> Tree:
    """What a method of the view does."""
    positional, named = arguments
    match name, positional:
        case "__getitem__", [key]:
            return machine.item(state, SUBJECT, key)
        case "get", [key, *_] if machine.constant(key) in machine.forest.variables:
            return machine.item(state, SUBJECT, key)
        case "keys", []:
            return machine.forest.leaf(tuple(machine.forest.variables))
        case "__setitem__", [key, value]:
            machine.write_key(state, key, value)
        case "update", [] | [Leaf(Entries())]:
            entries = positional[0].value.trees if positional else {}  # type: ignore[union-attr]
            for key, value in {**entries, **named}.items():
                machine.write_key(state, machine.forest.leaf(key), value)
        case _:
            raise NotUnderstoodError(f"the method {name} of the argument")
    return machine.forest.leaf(None)


# Builtins of collections of trees, whose values need not be put together.

Parts = tuple[Tree, ...]


def _short_circuit(stops_at: bool) -> Structured:
    def fold(machine: Machine, state: State, parts: Parts) -> Tree:
        result: Tree = machine.forest.leaf(not stops_at)
        for part in reversed(parts):
            truth, rest = machine.apply(state, bool, part), result
            result = machine.forest.combine(
                lambda value, rest=rest: machine.forest.leaf(value) if value is stops_at else rest,
                truth,
                outcomes=rest.names,
            )
        return result

    return fold


def _sum(machine: Machine, state: State, parts: Parts) -> Tree:
    total: Tree = machine.forest.leaf(0)
    for part in parts:
        total = machine.apply(state, operator.add, total, part)
    return total


def _pairs(machine: Machine, *columns: Iterable[Tree]) -> Tree:
    """What `zip` gives, as a tuple of tuples."""
    leaf = machine.forest.leaf
    rows = [leaf(Items(tuple, row)) for row in zip(*columns, strict=False)]
    return leaf(Items(tuple, tuple(rows)))


def _enumerate(machine: Machine, state: State, parts: Parts) -> Tree:
    return _pairs(machine, map(machine.forest.leaf, itertools.count()), parts)


def _as(kind: type) -> Structured:
    return lambda machine, state, parts: machine.forest.leaf(Items(kind, parts))


STRUCTURED: dict[object, Structured] = {
    builtins.all: _short_circuit(stops_at=False),
    builtins.any: _short_circuit(stops_at=True),
    builtins.sum: _sum,
    builtins.len: lambda machine, state, parts: machine.forest.leaf(len(parts)),
    builtins.list: _as(list),
    builtins.tuple: _as(tuple),
    builtins.reversed: lambda machine, state, parts: _as(tuple)(machine, state, parts[::-1]),
    builtins.enumerate: _enumerate,
    builtins.zip: lambda machine, state, *columns: _pairs(machine, *columns),
}


def _call_structured(
    machine: Machine, state: State, function: object, trees: list[Tree]
) -> Tree | None:
    """What a builtin gives of collections of trees; None if they are plain values."""
    if not isinstance(function, type | types.BuiltinFunctionType) or function not in STRUCTURED:
        return None
    if len(trees) != 1 and function is not builtins.zip:
        return None
    built = [tree for tree in trees if isinstance(tree, Leaf) and _is_built(tree.value)]
    if not built or not all(isinstance(tree, Leaf) for tree in trees):
        return None
    return STRUCTURED[function](machine, state, *(elements(machine, tree) for tree in trees))


def _is_built(value: object) -> bool:
    return isinstance(value, Items | Entries | Subject | Position)
