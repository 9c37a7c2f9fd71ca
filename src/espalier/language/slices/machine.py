"""A machine that runs bytecode on trees: its states, its frames, and what it reads and writes."""

from __future__ import annotations

import dis
import inspect
import itertools
import math
import operator
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from espalier.errors import ProgramError
from espalier.language.trees import (
    ALWAYS,
    KEEP,
    NEVER,
    FollowingError,
    Forest,
    Fork,
    Leaf,
    TooMuchError,
    Tree,
    leaves,
)

MOST_INSTRUCTIONS = 200_000
DEEPEST_CALL = 30


class NotUnderstoodError(FollowingError):
    """The function does something that cannot be followed for all values at once."""


class Subject:
    """Stands for the view: the argument of the function."""


SUBJECT = Leaf(Subject())
UNBOUND = Leaf(object())  # a name that has no value yet
NULL = Leaf(object())  # what is pushed below a function


@dataclass(frozen=True, eq=False)
class Items:
    """A list or tuple that was built of trees."""

    kind: type
    trees: tuple[Tree, ...]


@dataclass(frozen=True, eq=False)
class Entries:
    """A dictionary of trees under known keys."""

    trees: Mapping[Any, Tree]


@dataclass(frozen=True, eq=False)
class Position:
    """An iterator: what it gives, and how far it is."""

    trees: tuple[Tree, ...]
    place: int = 0


@dataclass(frozen=True, eq=False)
class Closure:
    """A function or comprehension that the code makes; it sees the names of the `frame`."""

    function: types.FunctionType
    frame: Frame


@dataclass(frozen=True, eq=False)
class Method:
    """A method of the view."""

    name: str


@dataclass
class State:
    """Where the assignments that reach `guard` are: the names and the stack of their frame."""

    guard: Tree
    names: dict[str, Tree]
    stack: list[Tree] = field(default_factory=list)

    def pop(self) -> Tree:
        """The top of the stack, taken off."""
        return self.stack.pop()

    def take(self, count: int) -> list[Tree]:
        """The topmost `count`, taken off, the lowest first."""
        start = len(self.stack) - count
        taken, self.stack[start:] = self.stack[start:], []
        return taken

    def only(self, guard: Tree) -> State:
        """The same place for fewer assignments."""
        return State(guard, dict(self.names), list(self.stack))


@dataclass(eq=False)
class Frame:
    """One call: its function, what it returned or yielded so far, and where."""

    function: types.FunctionType
    result: Tree = NEVER
    keywords: tuple[str, ...] = ()

    @property
    def code(self) -> types.CodeType:
        """What it runs."""
        return self.function.__code__

    @property
    def is_generator(self) -> bool:
        """Whether it yields; its result is then the list of what it yields."""
        return bool(self.code.co_flags & inspect.CO_GENERATOR)

    @cached_property
    def instructions(self) -> dict[int, dis.Instruction]:
        """The instructions by their offset."""
        return {step.offset: step for step in dis.get_instructions(self.code)}

    @cached_property
    def following(self) -> dict[int, int]:
        """The offset of the instruction after each."""
        return dict(itertools.pairwise(self.instructions))

    @cached_property
    def loops(self) -> dict[int, int]:
        """Where each loop begins, and its last jump back to there."""
        jumps = [step for step in self.instructions.values() if "JUMP_BACKWARD" in step.opname]
        return {step.argval: step.offset for step in jumps}

    def earliest(self, places: Iterable[int]) -> int:
        """The place to continue from, so that the sides of a branch join again.

        It is the first, but the next round of a loop waits for all that are in this one.
        """
        ordered = sorted(places)
        for place, following in itertools.zip_longest(ordered, ordered[1:], fillvalue=sys.maxsize):
            if following > self.loops.get(place, place):
                return place
        return ordered[-1]

    def past_loop(self, target: int) -> int:
        """Where a loop continues that jumps to `target` when it is done."""
        while self.instructions[target].opname == "END_FOR":
            target = self.following[target]
            if sys.version_info >= (3, 13):
                target = self.following[target]
        return target


# Where a state goes next: None to the following instruction, else these states to these places.
Next = list[tuple[int, State]] | None
Handler = Callable[["Machine", Frame, State, dis.Instruction], Next]


class Machine:
    """Runs code on trees by the handlers of its instructions.

    `writes` is what happened to each variable; as no assignment is in two states, they share it.
    """

    def __init__(
        self, forest: Forest, heads: frozenset[str], handlers: Mapping[str, Handler]
    ) -> None:
        self.forest, self.heads, self.handlers = forest, heads, handlers
        self.writes: dict[str, Tree] = {}
        self.depth, self.left = 0, MOST_INSTRUCTIONS

    def call(self, function: types.FunctionType, names: Mapping[str, Tree], guard: Tree) -> Tree:
        """What `function` returns where `guard` is reached; what it writes is written."""
        if self.depth >= DEEPEST_CALL:
            raise NotUnderstoodError("calls that are too deep")
        self.depth += 1
        frame = Frame(function)
        if frame.is_generator:
            frame.result = self.forest.leaf(Items(list, ()))
        waiting = {0: State(guard, dict(names))}
        while waiting:
            place = frame.earliest(waiting)
            for target, state in self._run(frame, waiting.pop(place), place):
                waiting[target] = self._meet(waiting.get(target), state)
        self.depth -= 1
        return frame.result

    def _run(self, frame: Frame, state: State, place: int) -> list[tuple[int, State]]:
        """Follow a state up to a place where others may come, or which has several ways on."""
        while True:
            arrivals = self._step(frame, state, frame.instructions[place])
            if arrivals is not None:
                return arrivals
            place = frame.following[place]
            if frame.instructions[place].is_jump_target:
                return [(place, state)]

    def _step(self, frame: Frame, state: State, instruction: dis.Instruction) -> Next:
        self.left -= 1
        handler = self.handlers.get(instruction.opname)
        if handler is None or self.left < 0:
            raise NotUnderstoodError(f"the instruction {instruction.opname}")
        return handler(self, frame, state, instruction)

    def _meet(self, one: State | None, other: State) -> State:
        """Two states at one place as one."""
        if one is None:
            return other
        choose, guard = self.forest.choose, one.guard
        names = {
            name: choose(guard, one.names.get(name, UNBOUND), other.names.get(name, UNBOUND))
            for name in {**one.names, **other.names}
        }
        pairs = zip(one.stack, other.stack, strict=True)
        stack = [choose(guard, mine, theirs) for mine, theirs in pairs]
        return State(choose(guard, ALWAYS, other.guard), names, stack)

    def read(self, name: str) -> Tree:
        """The tree of a variable's value now."""
        fresh, written = self.forest.read(name), self.writes.get(name, KEEP)
        return self.forest.combine(
            lambda value: fresh if value is KEEP.value else self.forest.leaf(value),
            written,
            outcomes=fresh.names,
        )

    def item(self, state: State, container: Tree, key: Tree) -> Tree:
        """`container[key]`; of the view, the variable of that name."""
        if container is SUBJECT:
            return self._look_up(state, key, {name: self.read(name) for name in self._names(key)})
        match container:
            case Leaf(Items(_, trees)) if all(type(place) is int for place in leaves(key)):
                both_ways = range(-len(trees), len(trees))
                return self._look_up(state, key, {place: trees[place] for place in both_ways})
            case Leaf(Entries(trees)):
                return self._look_up(state, key, trees)
            case _:
                return self.apply(state, operator.getitem, container, key)

    def _look_up(self, state: State, key: Tree, trees: Mapping[Any, Tree]) -> Tree:
        if isinstance(key, Leaf) and key.value in trees:
            return trees[key.value]
        names = frozenset().union(*(tree.names for tree in trees.values()))
        return self.forest.combine(lambda _, k: trees[k], state.guard, key, outcomes=names)

    def _names(self, key: Tree) -> list[str]:
        """The variables that a key may name."""
        found = leaves(key)
        if not all(isinstance(name, str) and name in self.forest.variables for name in found):
            raise NotUnderstoodError("a variable that is not there")
        return found  # type: ignore[return-value]

    def write_key(self, state: State, key: Tree, value: Tree) -> None:
        """Write `value` to the variable whose name is `key`."""
        for name in self._names(key):
            if name in self.heads:
                raise NotUnderstoodError("the output of a head that is written")
            named = self.forest.narrow(state.guard, name.__eq__, key)
            self._write(name, value, named)

    def _write(self, name: str, value: Tree, guard: Tree) -> None:
        """Write `value` to the variable `name` where `guard` is reached."""
        check = self.forest.variables[name].check_written
        checked = self.forest.apply(lambda _, new: check(new), guard, self.plain(value))
        old = self.writes.get(name, KEEP)
        self.writes[name] = self.forest.choose(guard, checked, old)

    def constant(self, tree: Tree) -> Any:
        """The value of a tree that has only one."""
        if not isinstance(tree, Leaf) or isinstance(tree.value, Subject):
            raise NotUnderstoodError("something that depends on values where it may not")
        return self.plain(tree).value if isinstance(tree.value, Items) else tree.value  # type: ignore[union-attr]

    def refuse_null_test(self, one: Tree, other: Tree) -> None:
        """Refuse a comparison of a head's output with None."""
        for tested, value in ((one, other), (other, one)):
            if isinstance(value, Leaf) and value.value is None and isinstance(tested, Fork):
                name = tested.variable
                if name in self.heads and tested is self.forest.read(name):
                    raise null_is_tested(name)

    def apply(self, state: State, function: Callable[..., object], *trees: Tree) -> Tree:
        """What `function` gives for the values of `trees`, where the state is."""

        def evaluate(_: object, *values: object) -> object:
            if UNBOUND.value in values:
                raise NotUnderstoodError("a name without a value")
            return function(*values)

        return self.forest.apply(evaluate, state.guard, *map(self.plain, trees))

    def plain(self, tree: Tree) -> Tree:
        """The tree of values as any function takes them: what was built of trees put together."""
        found = leaves(tree)
        if any(isinstance(value, Subject | Closure | Method | Position) for value in found):
            raise NotUnderstoodError("the argument, or a function made here, used as a value")
        if not any(isinstance(value, Items | Entries) for value in found):
            return tree
        names: frozenset[str] = frozenset().union(*map(parts_names, found))
        return self.forest.combine(self._assemble, tree, outcomes=names)

    def _assemble(self, value: object) -> Tree:
        match value:
            case Items(kind, trees):
                return self._joined(lambda *values: kind(values), trees)
            case Entries(trees):
                keys = list(trees)
                return self._joined(
                    lambda *values: dict(zip(keys, values, strict=True)), trees.values()
                )
            case _:
                return self.forest.leaf(value)

    def _joined(self, make: Callable[..., object], trees: Iterable[Tree]) -> Tree:
        parts = [self.plain(tree) for tree in trees]
        self.expect(parts)
        return self.forest.apply(make, *parts)

    def expect(self, trees: Sequence[Tree]) -> None:
        """Refuse at once what would take all combinations of too many values."""
        together = frozenset().union(*(tree.names for tree in trees))
        if sum(len(tree.names) for tree in trees) == len(together):  # nothing in common
            combinations = math.prod(float(len(leaves(tree))) for tree in trees)
            if combinations > self.forest.left:
                raise TooMuchError


def null_is_tested(name: str) -> ProgramError:
    """The refusal of a function that asks whether the output of a head is None."""
    return ProgramError(
        f"ffn_fn asks whether {name!r}, the output of a head, is None; no rule can read null: have "
        "the head select a position everywhere, or read it only where another variable says that "
        "it is defined"
    )


def function_made_of(
    code: types.CodeType, outer: types.FunctionType, defaults: tuple[object, ...]
) -> types.FunctionType:
    """A function of `code` as `outer` would make it, with empty cells."""
    cells = tuple(types.CellType() for _ in code.co_freevars)
    return types.FunctionType(code, outer.__globals__, code.co_name, defaults or None, cells)


def parts_names(value: object) -> frozenset[str]:
    """The variables that the parts of a built value ask for."""
    match value:
        case Items(_, trees) | Position(trees):
            parts = list(trees)
        case Entries(trees):
            parts = list(trees.values())
        case _:
            return frozenset()
    nested = [parts_names(value) for part in parts for value in leaves(part)]
    return frozenset().union(*(part.names for part in parts), *nested)
