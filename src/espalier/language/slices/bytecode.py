"""What each bytecode instruction does to a state of trees, for CPython 3.11 to 3.13.

An instruction that is not here is not understood, and the function is explored path by path.
"""

from __future__ import annotations

import builtins
import dis
import operator
import sys
from collections.abc import Callable
from typing import Any

from espalier.language.slices.calls import call, elements, load_attribute
from espalier.language.slices.machine import (
    NULL,
    SUBJECT,
    UNBOUND,
    Closure,
    Entries,
    Frame,
    Handler,
    Items,
    Machine,
    Next,
    NotUnderstoodError,
    Position,
    State,
    function_made_of,
    parts_names,
)
from espalier.language.trees import NOWHERE, Leaf, Tree, leaves

HANDLERS: dict[str, Handler] = {}

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "@": operator.matmul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
}


def on(*names: str) -> Callable[[Handler], Handler]:
    """The handler of the instructions `names`."""

    def register(handler: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(names, handler))
        return handler

    return register


# Moving values about


@on("RESUME", "NOP", "EXTENDED_ARG", "PRECALL", "MAKE_CELL", "COPY_FREE_VARS", "END_FOR")
def _nothing(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    return None


@on("PUSH_NULL", "RETURN_GENERATOR", "LOAD_CLOSURE")
def _push_null(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    state.stack.append(NULL)
    return None


@on("POP_TOP")
def _pop(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    state.pop()
    return None


@on("COPY")
def _copy(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    state.stack.append(state.stack[-step.argval])
    return None


@on("SWAP")
def _swap(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    stack, depth = state.stack, step.argval
    stack[-1], stack[-depth] = stack[-depth], stack[-1]
    return None


@on("LOAD_CONST")
def _load_constant(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    state.stack.append(machine.forest.leaf(step.argval))
    return None


@on("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_DEREF", "LOAD_FAST_LOAD_FAST")
def _load(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
    state.stack += [state.names.get(name, UNBOUND) for name in names]
    return None


@on("LOAD_FAST_AND_CLEAR")
def _load_and_clear(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    state.stack.append(state.names.pop(step.argval, UNBOUND))
    return None


@on("STORE_FAST", "STORE_DEREF")
def _store(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    if step.argval in frame.code.co_freevars:
        raise NotUnderstoodError("a nonlocal name that is changed")
    state.names[step.argval] = state.pop()
    return None


@on("STORE_FAST_STORE_FAST")
def _store_two(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    for name in step.argval:
        state.names[name] = state.pop()
    return None


@on("STORE_FAST_LOAD_FAST")
def _store_and_load(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    stored, loaded = step.argval
    state.names[stored] = state.pop()
    state.stack.append(state.names.get(loaded, UNBOUND))
    return None


@on("LOAD_GLOBAL")
def _load_global(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    if step.arg is not None and step.arg & 1:
        state.stack.append(NULL)
    found = frame.function.__globals__
    if step.argval not in found:
        found = vars(builtins)
    if step.argval not in found:
        raise NotUnderstoodError(f"the unknown name {step.argval}")
    state.stack.append(machine.forest.leaf(found[step.argval]))
    return None


@on("LOAD_ATTR", "LOAD_METHOD")
def _load_attribute(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    found = load_attribute(machine, state, state.pop(), step.argval)
    as_method = step.opname == "LOAD_METHOD" or (
        sys.version_info >= (3, 12) and step.arg is not None and step.arg & 1
    )
    state.stack += [NULL, found] if as_method else [found]
    return None


# Operators


@on("BINARY_OP", "COMPARE_OP")
def _operate(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    left, right = state.take(2)
    symbol = step.argval if step.opname == "COMPARE_OP" else step.argrepr
    in_place = symbol.endswith("=") and symbol not in OPERATORS
    operate = OPERATORS[symbol.rstrip("=") if in_place else symbol]
    if in_place and any(isinstance(value, list | set | dict | Items) for value in leaves(left)):
        raise NotUnderstoodError("a list that is changed in place")
    if symbol in ("==", "!="):
        machine.refuse_null_test(left, right)
    state.stack.append(machine.apply(state, operate, left, right))
    return None


@on("IS_OP")
def _is(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    left, right = state.take(2)
    machine.refuse_null_test(left, right)
    test = operator.is_not if step.arg else operator.is_
    state.stack.append(machine.apply(state, test, left, right))
    return None


@on("CONTAINS_OP")
def _contains(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    item, container = state.take(2)
    if container is SUBJECT:
        container = machine.forest.leaf(tuple(machine.forest.variables))
    wanted = not step.arg
    state.stack.append(
        machine.apply(state, lambda one, many: (one in many) is wanted, item, container)
    )
    return None


@on("UNARY_NEGATIVE", "UNARY_POSITIVE", "UNARY_INVERT", "UNARY_NOT", "TO_BOOL")
def _unary(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    functions: dict[str, Callable[[Any], object]] = {
        "UNARY_NEGATIVE": operator.neg,
        "UNARY_POSITIVE": operator.pos,
        "UNARY_INVERT": operator.inv,
        "UNARY_NOT": operator.not_,
        "TO_BOOL": bool,
    }
    state.stack.append(machine.apply(state, functions[step.opname], state.pop()))
    return None


@on("BINARY_SUBSCR")
def _subscript(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    container, key = state.take(2)
    state.stack.append(machine.item(state, container, key))
    return None


@on("STORE_SUBSCR")
def _store_item(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    value, container, key = state.take(3)
    if container is not SUBJECT:
        raise NotUnderstoodError("an object that is changed in place")
    machine.write_key(state, key, value)
    return None


@on("BINARY_SLICE")
def _slice(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    container, start, stop = state.take(3)
    cut = machine.apply(state, slice, start, stop)
    state.stack.append(machine.item(state, container, cut))
    return None


@on("FORMAT_VALUE")
def _format(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    flags = step.arg or 0
    spec = [state.pop()] if flags & 4 else []
    convert = (str, str, repr, ascii)[flags & 3] if flags & 3 else lambda value: value
    shown = machine.apply(
        state, lambda value, *form: format(convert(value), *form), state.pop(), *spec
    )
    state.stack.append(shown)
    return None


@on("CONVERT_VALUE", "FORMAT_SIMPLE")
def _convert(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    convert = (
        format if step.opname == "FORMAT_SIMPLE" else (format, str, repr, ascii)[step.arg or 0]
    )
    state.stack.append(machine.apply(state, convert, state.pop()))
    return None


@on("FORMAT_WITH_SPEC")
def _format_with(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    value, spec = state.take(2)
    state.stack.append(machine.apply(state, format, value, spec))
    return None


# Building


@on("BUILD_TUPLE", "BUILD_LIST")
def _build(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    kind = tuple if step.opname == "BUILD_TUPLE" else list
    state.stack.append(machine.forest.leaf(Items(kind, tuple(state.take(step.argval)))))
    return None


@on("BUILD_SET", "BUILD_STRING", "BUILD_SLICE")
def _build_plain(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    makers: dict[str, Callable[..., object]] = {
        "BUILD_SET": lambda *items: set(items),
        "BUILD_STRING": lambda *items: "".join(items),
        "BUILD_SLICE": slice,
    }
    state.stack.append(machine.apply(state, makers[step.opname], *state.take(step.argval)))
    return None


@on("BUILD_MAP", "BUILD_CONST_KEY_MAP")
def _build_map(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    if step.opname == "BUILD_MAP":
        taken = state.take(2 * step.argval)
        keys, values = [machine.constant(key) for key in taken[::2]], taken[1::2]
    else:
        keys, values = list(machine.constant(state.pop())), state.take(step.argval)
    state.stack.append(machine.forest.leaf(Entries(dict(zip(keys, values, strict=True)))))
    return None


@on("LIST_APPEND", "SET_ADD", "LIST_EXTEND")
def _append(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    added, place = state.pop(), -step.argval
    built = state.stack[place]
    if step.opname == "SET_ADD":
        state.stack[place] = machine.apply(state, lambda old, new: {*old, new}, built, added)
        return None
    more = (added,) if step.opname == "LIST_APPEND" else elements(machine, added)
    joined = machine.forest.combine(
        lambda value: machine.forest.leaf(Items(list, (*value.trees, *more))), built
    )
    state.stack[place] = machine.forest.choose(state.guard, joined, built)
    return None


@on("MAP_ADD")
def _add_entry(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    key, value = state.take(2)
    built = state.stack[-step.argval]
    if not (isinstance(built, Leaf) and isinstance(built.value, Entries)):
        raise NotUnderstoodError("a dictionary whose keys depend on values")
    entries = {**built.value.trees, machine.constant(key): value}
    state.stack[-step.argval] = machine.forest.leaf(Entries(entries))
    return None


@on("DICT_MERGE", "DICT_UPDATE")
def _merge_maps(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    added = state.pop()
    built = state.stack[-step.argval]
    match built, added:
        case Leaf(Entries(old)), Leaf(Entries(new)):
            state.stack[-step.argval] = machine.forest.leaf(Entries({**old, **new}))
        case _:
            raise NotUnderstoodError("dictionaries that are joined")
    return None


@on("LIST_TO_TUPLE")
def _as_tuple(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    state.stack.append(machine.forest.leaf(Items(tuple, elements(machine, state.pop()))))
    return None


@on("UNPACK_EX")
def _unpack_rest(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    parts, count = elements(machine, state.pop()), step.argval
    before, after = count & 255, count >> 8
    if len(parts) < before + after:
        raise NotUnderstoodError("a sequence that is too short")
    end = len(parts) - after
    rest = machine.forest.leaf(Items(list, parts[before:end]))
    state.stack += [*reversed(parts[end:]), rest, *reversed(parts[:before])]
    return None


@on("UNPACK_SEQUENCE")
def _unpack(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    tree, count = state.pop(), step.argval
    if isinstance(tree, Leaf):
        parts = elements(machine, tree)
        if len(parts) != count:
            raise NotUnderstoodError("a sequence of another length")
        state.stack += reversed(parts)
        return None
    whole = machine.apply(state, lambda value: _exactly(tuple(value), count), tree)
    state.stack += [
        machine.apply(state, lambda value, n=number: value[n], whole)
        for number in reversed(range(count))
    ]
    return None


def _exactly(values: tuple[object, ...], count: int) -> tuple[object, ...]:
    if len(values) != count:
        raise ValueError(f"{count} values are expected")
    return values


# Going elsewhere


def _part(state: State, tests: Tree, machine: Machine) -> tuple[Tree, Tree]:
    """The guards of the assignments for which `tests` is true, and of the others."""
    truth, narrow = machine.apply(state, bool, tests), machine.forest.narrow
    return narrow(state.guard, operator.truth, truth), narrow(state.guard, operator.not_, truth)


@on("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
def _jump(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    return [(step.argval, state)]


def _branch(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    """Jump where the top of the stack is true, false, None or not None."""
    tests, kind = state.pop(), step.opname.partition("_IF_")[2]
    if "NONE" in kind:
        machine.refuse_null_test(tests, machine.forest.leaf(None))
        tests = machine.apply(state, lambda value: value is None, tests)
    yes, no = _part(state, tests, machine)
    there, here = (no, yes) if kind in ("FALSE", "NOT_NONE") else (yes, no)
    following = frame.following[step.offset]
    return _go([(step.argval, state, there), (following, state, here)])


for _direction in ("", "FORWARD_", "BACKWARD_"):
    for _kind in ("TRUE", "FALSE", "NONE", "NOT_NONE"):
        on(f"POP_JUMP_{_direction}IF_{_kind}")(_branch)


def _go(ways: list[tuple[int, State, Tree]]) -> Next:
    return [(place, state.only(guard)) for place, state, guard in ways if guard is not NOWHERE]


@on("JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP")
def _jump_or_pop(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    yes, no = _part(state, state.stack[-1], machine)
    there, here = (yes, no) if "TRUE" in step.opname else (no, yes)
    below = State(state.guard, state.names, state.stack[:-1])
    following = frame.following[step.offset]
    return _go([(step.argval, state, there), (following, below, here)])


@on("GET_ITER")
def _iterate(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    tree, forest = state.pop(), machine.forest
    found = forest.combine(
        lambda value: forest.leaf(Position(elements(machine, forest.leaf(value)))), tree
    )
    state.stack.append(found)
    return None


@on("FOR_ITER")
def _next_item(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    iterator, forest = state.pop(), machine.forest
    has_more = forest.apply(
        lambda _, it: it.place < len(it.trees), state.guard, _positions(iterator)
    )
    more, done = _part(state, has_more, machine)
    arrivals: list[tuple[int, State]] = []
    if done is not NOWHERE:
        arrivals.append((frame.past_loop(step.argval), state.only(done)))
    if more is not NOWHERE:
        inside = state.only(more)
        names = frozenset().union(*map(parts_names, leaves(iterator)))
        item = forest.combine(lambda _, it: it.trees[it.place], more, iterator, outcomes=names)
        onwards = forest.apply(lambda _, it: Position(it.trees, it.place + 1), more, iterator)
        inside.stack += [onwards, item]
        arrivals.append((frame.following[step.offset], inside))
    return arrivals


def _positions(tree: Tree) -> Tree:
    if not all(isinstance(value, Position) for value in leaves(tree)):
        raise NotUnderstoodError("an iterator that is not a loop's")
    return tree


# Functions


@on("KW_NAMES")
def _keywords(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    frame.keywords = frame.code.co_consts[step.arg or 0]
    return None


@on("CALL", "CALL_KW")
def _call(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    if step.opname == "CALL_KW":
        frame.keywords = machine.constant(state.pop())
    keywords, frame.keywords = frame.keywords, ()
    arguments = state.take(step.argval)
    one, other = state.take(2)
    if one is NULL:
        function = other
    elif other is NULL:
        function = one
    else:
        function, arguments = one, [other, *arguments]
    split = len(arguments) - len(keywords)
    named = dict(zip(keywords, arguments[split:], strict=True))
    state.stack.append(call(machine, frame, state, function, (arguments[:split], named)))
    return None


@on("CALL_FUNCTION_EX")
def _call_unpacked(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    named: dict[str, Tree] = {}
    if step.arg is not None and step.arg & 1:
        tree = state.pop()
        if not (isinstance(tree, Leaf) and isinstance(tree.value, Entries)):
            raise NotUnderstoodError("named arguments that depend on values")
        named = dict(tree.value.trees)
    arguments = list(elements(machine, state.pop()))
    function = next(tree for tree in state.take(2) if tree is not NULL)
    state.stack.append(call(machine, frame, state, function, (arguments, named)))
    return None


@on("MAKE_FUNCTION")
def _make_function(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    code, flags = machine.constant(state.pop()), step.arg or 0
    if flags & ~9:
        raise NotUnderstoodError("a function with keyword defaults or annotations made inside")
    if flags & 8:
        state.pop()  # the cells: it is called in this frame and sees its names
    defaults = machine.constant(machine.plain(state.pop())) if flags & 1 else ()
    made = function_made_of(code, frame.function, defaults)
    state.stack.append(machine.forest.leaf(Closure(made, frame)))
    return None


@on("SET_FUNCTION_ATTRIBUTE")
def _set_attribute(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    made = machine.constant(state.pop())
    value = state.pop()
    if step.arg == 1:
        defaults = machine.constant(machine.plain(value))
        function = function_made_of(made.function.__code__, frame.function, defaults)
        made = Closure(function, frame)
    elif step.arg != 8:
        raise NotUnderstoodError("a function with keyword defaults or annotations made inside")
    state.stack.append(machine.forest.leaf(made))
    return None


@on("RETURN_VALUE", "RETURN_CONST")
def _return(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    constant = step.opname == "RETURN_CONST"
    value = machine.forest.leaf(step.argval) if constant else state.pop()
    if not frame.is_generator:
        frame.result = machine.forest.choose(state.guard, value, frame.result)
    return []


@on("YIELD_VALUE")
def _yield(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    value, forest = state.pop(), machine.forest
    longer = forest.combine(
        lambda items: forest.leaf(Items(list, (*items.trees, value))), frame.result
    )
    frame.result = forest.choose(state.guard, longer, frame.result)
    state.stack.append(forest.leaf(None))
    return None
