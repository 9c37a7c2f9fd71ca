"""Decision trees over a program's variables: a value, by what was read on the way to it.

Along every branch a tree asks only for variables that the function had read there, in an order in
which it may ask for them: a head's output may be null where the function never looks at it.
Equal trees are one object, so that they compare by identity, and trees share what they have in
common: work on them is counted in nodes, not in branches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from espalier.errors import FAULTS
from espalier.language.rules import Atom, Atoms, Rule
from espalier.language.variables import Value, Variable


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """The value itself."""

    value: object
    names: frozenset[str] = field(default=frozenset(), repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Fork:
    """What follows for each value of `variable`; `names` are all that are asked for below."""

    variable: str
    children: tuple[Tree, ...]
    names: frozenset[str]


Tree = Leaf | Fork
Known = Mapping[str, int]

KEEP = Leaf("the value that the variable has")
NEVER = Leaf("a value that is never asked for")
# A guard is a tree of these two: which assignments are meant.
ALWAYS = Leaf(True)
NOWHERE = Leaf("not these assignments")


class FollowingError(Exception):
    """A function cannot be followed on trees."""


class TooMuchError(FollowingError):
    """The trees have grown beyond what they may cost."""


class EvaluationError(FollowingError):
    """A function of values failed, where the variables have the values of `known`."""

    def __init__(self, known: Known, cause: BaseException) -> None:
        super().__init__(repr(cause))
        self.known = dict(known)


class Forest:
    """Makes trees, each different one once; at most `most` steps of work."""

    def __init__(self, variables: Mapping[str, Variable], most: float = math.inf) -> None:
        self.variables, self.left = variables, most
        self._leaves: dict[object, Leaf] = {(bool, True): ALWAYS}
        self._forks: dict[tuple[str, tuple[int, ...]], Fork] = {}

    def leaf(self, value: object) -> Leaf:
        """The tree that is `value` everywhere."""
        key = _identity(value)
        if key not in self._leaves:
            self._leaves[key] = Leaf(value)
        return self._leaves[key]

    def read(self, name: str) -> Tree:
        """The tree that is the value of the variable `name`."""
        return self.fork(name, [self.leaf(value) for value in self.variables[name].values])

    def fork(self, variable: str, children: Sequence[Tree]) -> Tree:
        """What `children` say for each value of `variable`; one of them where they agree."""
        different = {id(child): child for child in children if child is not NEVER}
        if len(different) <= 1:
            return next(iter(different.values()), NEVER)
        key = (variable, tuple(map(id, children)))
        if key not in self._forks:
            names = frozenset([variable]).union(*(child.names for child in children))
            self._forks[key] = Fork(variable, tuple(children), names)
        return self._forks[key]

    def choose(self, guard: Tree, then: Tree, otherwise: Tree) -> Tree:
        """`then` for the assignments of `guard`, `otherwise` for the others."""
        if then is otherwise:
            return then
        return self._walk(
            (guard, then, otherwise), 1, lambda trees: trees[1 if trees[0] is ALWAYS else 2]
        )

    def combine(
        self, function: Callable[..., Tree], *trees: Tree, outcomes: frozenset[str] = frozenset()
    ) -> Tree:
        """The tree that `function` gives for the values of `trees`, which are asked in turn.

        A tree that it returns may ask for variables of `outcomes`. A guard among `trees` leaves
        the result open for the assignments that are not meant.
        """
        return self._walk(
            trees, len(trees), lambda trees: function(*[tree.value for tree in trees]), outcomes
        )

    def narrow(self, guard: Tree, function: Callable[..., bool], *trees: Tree) -> Tree:
        """The guard of those of `guard` for which `function` of the values of `trees` is true."""
        truth = self.apply(lambda _, *values: bool(function(*values)), guard, *trees)
        return self._walk(
            (guard, truth),
            1,
            lambda trees: trees[0] if trees[0] is NOWHERE else self._as_guard(trees[1]),
        )

    def _as_guard(self, truth: Tree) -> Tree:
        return self.combine(lambda value: ALWAYS if value else NOWHERE, truth)

    def apply(self, function: Callable[..., object], *trees: Tree) -> Tree:
        """The tree of what `function` returns for the values of `trees`."""
        return self.combine(lambda *values: self.leaf(function(*values)), *trees)

    def _walk(
        self,
        trees: tuple[Tree, ...],
        asked: int,
        finish: Callable[[tuple[Any, ...]], Tree],
        outcomes: frozenset[str] = frozenset(),
    ) -> Tree:
        """Go down `trees` together until the first `asked` are leaves, and `finish` there."""
        memo: dict[object, Tree] = {}

        def go(trees: tuple[Tree, ...], known: dict[str, int]) -> Tree:
            trees = tuple([_follow(tree, known) for tree in trees]) if known else trees
            if asked == len(trees) and (NEVER in trees or NOWHERE in trees):
                return NEVER
            first = next((tree for tree in trees[:asked] if type(tree) is Fork), None)
            if first is None:
                return self.restrict(_evaluate(finish, trees, known), known)
            key: object = trees
            if known:
                names = outcomes.union(*[tree.names for tree in trees])
                key = (trees, frozenset([item for item in known.items() if item[0] in names]))
            if key not in memo:
                memo[key] = self.fork(first.variable, branch(trees, first, known))
            return memo[key]

        def branch(trees: tuple[Tree, ...], first: Fork, known: dict[str, int]) -> list[Tree]:
            variable = first.variable
            here = [type(tree) is Fork and tree.variable == variable for tree in trees]
            # Where only roots ask for the variable, equal children have equal results.
            below = variable in outcomes or any(
                variable in tree.names for tree, root in zip(trees, here, strict=True) if not root
            )
            found: dict[object, Tree] = {}
            results = []
            for code in range(len(first.children)):
                children = tuple(
                    [
                        tree.children[code] if root else tree  # type: ignore[union-attr]
                        for tree, root in zip(trees, here, strict=True)
                    ]
                )
                same = (code, children) if below else children
                if same not in found:
                    self.spend(1)
                    try:
                        found[same] = go(children, {**known, variable: code} if below else known)
                    except EvaluationError as error:
                        error.known.setdefault(variable, code)
                        raise
                results.append(found[same])
            return results

        return go(trees, {})

    def restrict(self, tree: Tree, known: Known) -> Tree:
        """`tree` where some variables have the values of these codes."""
        if type(tree) is Leaf:
            return tree
        tree = _follow(tree, known)
        if tree.names.isdisjoint(known):
            return tree
        assert isinstance(tree, Fork)
        self.spend(1)
        return self.fork(tree.variable, [self.restrict(child, known) for child in tree.children])

    def spend(self, steps: float) -> None:
        """Count steps of work; TooMuchError if there are no more to spend."""
        self.left -= steps
        if self.left < 0:
            raise TooMuchError

    def settle(self, tree: Tree, output: str) -> Tree:
        """`tree` of what is written to `output`, where writing what is there is keeping it."""
        values, memo = self.variables[output].values, {}

        def go(tree: Tree, old: int | None) -> Tree:
            if isinstance(tree, Leaf):
                same = tree is not KEEP and old is not None and tree.value == values[old]
                return KEEP if same else tree
            if (tree, old) not in memo:
                own = tree.variable == output
                children = [go(c, n if own else old) for n, c in enumerate(tree.children)]
                written = next((c for c in children if c is not KEEP), KEEP)
                if own and all(
                    child is written or (child is KEEP and getattr(written, "value", None) == value)
                    for child, value in zip(children, values, strict=True)
                ):
                    memo[tree, old] = written
                else:
                    memo[tree, old] = self.fork(tree.variable, children)
            return memo[tree, old]

        return go(tree, None)


def _evaluate(
    finish: Callable[[tuple[Any, ...]], Tree], trees: tuple[Tree, ...], known: Known
) -> Tree:
    try:
        return finish(trees)
    except FollowingError:
        raise
    except FAULTS as error:
        raise EvaluationError(known, error) from error


def _follow(tree: Tree, known: Known) -> Tree:
    while type(tree) is Fork and tree.variable in known:
        tree = tree.children[known[tree.variable]]
    return tree


def _identity(value: object) -> object:
    """What distinguishes a value from those that merely equal it: 1, 1.0 and True."""
    kind = type(value)
    if kind is tuple or kind is frozenset:
        return kind, kind([_identity(item) for item in value])  # type: ignore[attr-defined]
    if kind is float:
        return kind, value.hex()  # type: ignore[attr-defined]
    if kind is int or kind is bool or kind is str or value is None:
        return kind, value
    return kind, id(value)


def value_at(tree: Tree, codes: Known) -> object:
    """The value of a tree where the variables have these codes; NEVER's if one is missing."""
    tree = _follow(tree, codes)
    return tree.value if isinstance(tree, Leaf) else NEVER.value


def leaves(tree: Tree) -> list[object]:
    """The different values at the leaves, those that are never reached aside."""
    found: list[object] = []
    seen, open_ = {tree}, [tree]
    while open_:
        match open_.pop():
            case Fork(_, children):
                new = [child for child in dict.fromkeys(children) if child not in seen]
                seen.update(new)
                open_.extend(reversed(new))
            case leaf if leaf is not NEVER:
                found.append(leaf.value)
    return found


def count_rules(tree: Tree, output: str, variables: Mapping[str, Variable]) -> int:
    """How many rules `rules_of` makes, without making them."""
    memo: dict[tuple[Tree, bool], int] = {}

    def go(tree: Tree, *, read: bool) -> int:
        match tree:
            case Leaf():
                others = 1 if read else len(variables[output].values) - 1
                return 0 if tree is KEEP else others
            case Fork(variable, children):
                if (tree, read) not in memo:
                    own = read or variable == output
                    memo[tree, read] = sum(go(child, read=own) for child in children)
                return memo[tree, read]

    return go(tree, read=False)


def rules_of(tree: Tree, output: str, variables: Mapping[str, Variable]) -> Iterator[Rule]:
    """The rules of one settled tree: one for each way down to a write, and each old value there."""
    atom = Atoms()
    olds = variables[output].values
    stack: list[tuple[Tree, tuple[Atom, ...], Value | None]] = [(tree, (), None)]
    while stack:
        node, atoms, known = stack.pop()
        if isinstance(node, Fork):
            name = node.variable
            values: tuple[Value, ...] = variables[name].values
            branches = zip(values, node.children, strict=True)
            stack += [
                (child, (*atoms, atom(name, value)), value if name == output else known)
                for value, child in reversed([*branches])
                if child is not KEEP
            ]
        elif node is not KEEP:
            new: Value = node.value  # type: ignore[assignment]
            if known is not None:
                yield Rule.of_atoms(atoms, output, known, new)
                continue
            for old in olds:
                if old != new:
                    yield Rule.of_atoms((*atoms, atom(output, old)), output, old, new)
