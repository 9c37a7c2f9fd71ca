"""What the instructions do that go elsewhere: jumps, loops, calls and returns."""

from __future__ import annotations

import dis
import operator

from espalier.language.slices.bytecode import HANDLERS, on
from espalier.language.slices.calls import call, elements
from espalier.language.slices.machine import (
    NULL,
    Closure,
    Entries,
    Frame,
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

__all__ = ["HANDLERS"]  # those of `bytecode`, and those that follow

# Jumps and loops


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
def _iterate(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    tree, forest = state.pop(), machine.forest
    found = forest.combine(
        lambda value: forest.leaf(Position(elements(machine, forest.leaf(value)))), tree
    )
    state.stack.append(found)


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
def _keywords(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    frame.keywords = frame.code.co_consts[step.arg or 0]


@on("CALL", "CALL_KW")
def _call(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
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


@on("CALL_FUNCTION_EX")
def _call_unpacked(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    named: dict[str, Tree] = {}
    if step.arg is not None and step.arg & 1:
        tree = state.pop()
        if not (isinstance(tree, Leaf) and isinstance(tree.value, Entries)):
            raise NotUnderstoodError("named arguments that depend on values")
        named = dict(tree.value.trees)
    arguments = list(elements(machine, state.pop()))
    function = next(tree for tree in state.take(2) if tree is not NULL)
    state.stack.append(call(machine, frame, state, function, (arguments, named)))


@on("MAKE_FUNCTION")
def _make_function(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    code, flags = machine.constant(state.pop()), step.arg or 0
    if flags & ~9:
        raise NotUnderstoodError("a function with keyword defaults or annotations made inside")
    if flags & 8:
        state.pop()  # the cells: it is called in this frame and sees its names
    defaults = machine.constant(machine.plain(state.pop())) if flags & 1 else ()
    made = function_made_of(code, frame.function, defaults)
    state.stack.append(machine.forest.leaf(Closure(made, frame)))


@on("SET_FUNCTION_ATTRIBUTE")
def _set_attribute(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    made = machine.constant(state.pop())
    value = state.pop()
    if step.arg == 1:
        defaults = machine.constant(machine.plain(value))
        function = function_made_of(made.function.__code__, frame.function, defaults)
        made = Closure(function, frame)
    elif step.arg != 8:
        raise NotUnderstoodError("a function with keyword defaults or annotations made inside")
    state.stack.append(machine.forest.leaf(made))


@on("RETURN_VALUE", "RETURN_CONST")
def _return(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> Next:
    constant = step.opname == "RETURN_CONST"
    value = machine.forest.leaf(step.argval) if constant else state.pop()
    if not frame.is_generator:
        frame.result = machine.forest.choose(state.guard, value, frame.result)
    return []


@on("YIELD_VALUE")
def _yield(machine: Machine, frame: Frame, state: State, step: dis.Instruction) -> None:
    value, forest = state.pop(), machine.forest
    longer = forest.combine(
        lambda items: forest.leaf(Items(list, (*items.trees, value))), frame.result
    )
    frame.result = forest.choose(state.guard, longer, frame.result)
    state.stack.append(forest.leaf(None))
