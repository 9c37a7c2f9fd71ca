"""What bytecode instructions do to a state of trees, for CPython 3.11 to 3.13; `flow` has the rest.

An instruction that is not here is not understood, and the function is explored path by path.
"""

from __future__ import annotations

import builtins
import dis
import operator
import sys
from collections.abc import Callable
from typing import Any

from espalier.language.slices.calls import elements, load_attribute
from espalier.language.slices.machine import (
    NULL,
    SUBJECT,
    UNBOUND,
    Entries,
    Frame,
    Handler,
    Items,
    Machine,
    NotUnderstoodError,
    State,
)
from espalier.language.trees import Leaf, leaves

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
def _nothing(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    pass


@on("PUSH_NULL", "RETURN_GENERATOR", "LOAD_CLOSURE")
def _push_null(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    state.stack.append(NULL)


@on("POP_TOP")
def _pop(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    state.pop()


@on("COPY")
def _copy(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    state.stack.append(state.stack[-step.argval])


@on("SWAP")
def _swap(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    stack, depth = state.stack, step.argval
    stack[-1], stack[-depth] = stack[-depth], stack[-1]


@on("LOAD_CONST")
def _load_constant(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    state.stack.append(machine.forest.leaf(step.argval))


@on("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_DEREF", "LOAD_FAST_LOAD_FAST")
def _load(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
    state.stack += [state.names.get(name, UNBOUND) for name in names]


@on("LOAD_FAST_AND_CLEAR")
def _load_and_clear(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    state.stack.append(state.names.pop(step.argval, UNBOUND))


@on("STORE_FAST", "STORE_DEREF")
def _store(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    if step.argval in frame.code.co_freevars:
        raise NotUnderstoodError("a nonlocal name that is changed")
    state.names[step.argval] = state.pop()


@on("STORE_FAST_STORE_FAST")
def _store_two(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    for name in step.argval:
        state.names[name] = state.pop()


@on("STORE_FAST_LOAD_FAST")
def _store_and_load(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    stored, loaded = step.argval
    state.names[stored] = state.pop()
    state.stack.append(state.names.get(loaded, UNBOUND))


@on("LOAD_GLOBAL")
def _load_global(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    if step.arg is not None and step.arg & 1:
        state.stack.append(NULL)
    found = frame.function.__globals__
    if step.argval not in found:
        found = vars(builtins)
    if step.argval not in found:
        raise NotUnderstoodError(f"the unknown name {step.argval}")
    state.stack.append(machine.forest.leaf(found[step.argval]))


@on("LOAD_ATTR", "LOAD_METHOD")
def _load_attribute(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    found = load_attribute(machine, state, state.pop(), step.argval)
    as_method = step.opname == "LOAD_METHOD" or (
        sys.version_info >= (3, 12) and step.arg is not None and step.arg & 1
    )
    state.stack += [NULL, found] if as_method else [found]


# Operators


@on("BINARY_OP", "COMPARE_OP")
def _operate(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    left, right = state.take(2)
    symbol = step.argval if step.opname == "COMPARE_OP" else step.argrepr
    in_place = symbol.endswith("=") and symbol not in OPERATORS
    operate = OPERATORS[symbol.rstrip("=") if in_place else symbol]
    if in_place and any(isinstance(value, list | set | dict | Items) for value in leaves(left)):
        raise NotUnderstoodError("a list that is changed in place")
    if symbol in ("==", "!="):
        machine.refuse_null_test(left, right)
    state.stack.append(machine.apply(state, operate, left, right))


@on("IS_OP")
def _is(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    left, right = state.take(2)
    machine.refuse_null_test(left, right)
    test = operator.is_not if step.arg else operator.is_
    state.stack.append(machine.apply(state, test, left, right))


@on("CONTAINS_OP")
def _contains(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    item, container = state.take(2)
    if container is SUBJECT:
        container = machine.forest.leaf(tuple(machine.forest.variables))
    wanted = not step.arg
    state.stack.append(
        machine.apply(state, lambda one, many: (one in many) is wanted, item, container)
    )


@on("UNARY_NEGATIVE", "UNARY_POSITIVE", "UNARY_INVERT", "UNARY_NOT", "TO_BOOL")
def _unary(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    functions: dict[str, Callable[[Any], object]] = {
        "UNARY_NEGATIVE": operator.neg,
        "UNARY_POSITIVE": operator.pos,
        "UNARY_INVERT": operator.inv,
        "UNARY_NOT": operator.not_,
        "TO_BOOL": bool,
    }
    state.stack.append(machine.apply(state, functions[step.opname], state.pop()))


@on("BINARY_SUBSCR")
def _subscript(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    container, key = state.take(2)
    state.stack.append(machine.item(state, container, key))


@on("STORE_SUBSCR")
def _store_item(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    value, container, key = state.take(3)
    if container is not SUBJECT:
        raise NotUnderstoodError("an object that is changed in place")
    machine.write_key(state, key, value)


@on("BINARY_SLICE")
def _slice(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    container, start, stop = state.take(3)
    cut = machine.apply(state, slice, start, stop)
    state.stack.append(machine.item(state, container, cut))


@on("FORMAT_VALUE")
def _format(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    flags = step.arg or 0
    spec = [state.pop()] if flags & 4 else []
    convert = (str, str, repr, ascii)[flags & 3] if flags & 3 else lambda value: value
    shown = machine.apply(
        state, lambda value, *form: format(convert(value), *form), state.pop(), *spec
    )
    state.stack.append(shown)


@on("CONVERT_VALUE", "FORMAT_SIMPLE")
def _convert(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    convert = (
        format if step.opname == "FORMAT_SIMPLE" else (format, str, repr, ascii)[step.arg or 0]
    )
    state.stack.append(machine.apply(state, convert, state.pop()))


@on("FORMAT_WITH_SPEC")
def _format_with(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    value, spec = state.take(2)
    state.stack.append(machine.apply(state, format, value, spec))


# Building


@on("BUILD_TUPLE", "BUILD_LIST")
def _build(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    kind = tuple if step.opname == "BUILD_TUPLE" else list
    state.stack.append(machine.forest.leaf(Items(kind, tuple(state.take(step.argval)))))


@on("BUILD_SET", "BUILD_STRING", "BUILD_SLICE")
def _build_plain(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    makers: dict[str, Callable[..., object]] = {
        "BUILD_SET": lambda *items: set(items),
        "BUILD_STRING": lambda *items: "".join(items),
        "BUILD_SLICE": slice,
    }
    state.stack.append(machine.apply(state, makers[step.opname], *state.take(step.argval)))


@on("BUILD_MAP", "BUILD_CONST_KEY_MAP")
def _build_map(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    if step.opname == "BUILD_MAP":
        taken = state.take(2 * step.argval)
        keys, values = [machine.constant(key) for key in taken[::2]], taken[1::2]
    else:
        keys, values = list(machine.constant(state.pop())), state.take(step.argval)
    state.stack.append(machine.forest.leaf(Entries(dict(zip(keys, values, strict=True)))))


@on("LIST_APPEND", "SET_ADD", "LIST_EXTEND")
def _append(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    added, place = state.pop(), -step.argval
    built = state.stack[place]
    if step.opname == "SET_ADD":
        state.stack[place] = machine.apply(state, lambda old, new: {*old, new}, built, added)
        return
    more = (added,) if step.opname == "LIST_APPEND" else elements(machine, added)
    joined = machine.forest.combine(
        lambda value: machine.forest.leaf(Items(list, (*value.trees, *more))), built
    )
    state.stack[place] = machine.forest.choose(state.guard, joined, built)


@on("MAP_ADD")
def _add_entry(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    key, value = state.take(2)
    built = state.stack[-step.argval]
    if not (isinstance(built, Leaf) and isinstance(built.value, Entries)):
        raise NotUnderstoodError("a dictionary whose keys depend on values")
    entries = {**built.value.trees, machine.constant(key): value}
    state.stack[-step.argval] = machine.forest.leaf(Entries(entries))


@on("DICT_MERGE", "DICT_UPDATE")
def _merge_maps(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    added = state.pop()
    built = state.stack[-step.argval]
    match built, added:
        case Leaf(Entries(old)), Leaf(Entries(new)):
            state.stack[-step.argval] = machine.forest.leaf(Entries({**old, **new}))
        case _:
            raise NotUnderstoodError("dictionaries that are joined")


@on("LIST_TO_TUPLE")
def _as_tuple(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    state.stack.append(machine.forest.leaf(Items(tuple, elements(machine, state.pop()))))


@on("UNPACK_EX")
def _unpack_rest(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    parts, count = elements(machine, state.pop()), step.argval
    before, after = count & 255, count >> 8
    if len(parts) < before + after:
        raise NotUnderstoodError("a sequence that is too short")
    end = len(parts) - after
    rest = machine.forest.leaf(Items(list, parts[before:end]))
    state.stack += [*reversed(parts[end:]), rest, *reversed(parts[:before])]


@on("UNPACK_SEQUENCE")
def _unpack(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    tree, count = state.pop(), step.argval
    if isinstance(tree, Leaf):
        parts = elements(machine, tree)
        if len(parts) != count:
            raise NotUnderstoodError("a sequence of another length")
        state.stack += reversed(parts)
        return
    whole = machine.apply(state, lambda value: _exactly(tuple(value), count), tree)
    state.stack += [
        machine.apply(state, lambda value, n=number: value[n], whole)
        for number in reversed(range(count))
    ]


def _exactly(values: tuple[object, ...], count: int) -> tuple[object, ...]:
    if len(values) != count:
        raise ValueError(f"{count} values are expected")
    return values
