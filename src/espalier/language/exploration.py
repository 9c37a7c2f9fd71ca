"""A plain Python function becomes rules, by following only the paths it takes.

The function is run on a view of the variables that looks a value up only when it is read. A read
that was not decided yet is a fork; every path through the forks is run once (and once more, from
the last path to the first, to see that it repeats). For each output variable the tree of forks is
then folded from the leaves up: a fork whose branches all agree about that variable disappears.
"""

from __future__ import annotations

import inspect
import math
import random
import warnings
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass

from espalier.errors import ProgramError
from espalier.language.rules import Atom, Rule
from espalier.language.variables import Value, Variable
from espalier.language.view import View

FfnFunction = Callable[[MutableMapping[str, Value]], object]

PROBES = 48
WARN_ABOVE = 100_000
MOST_RULES = 500_000


class ExplorationWarning(UserWarning):
    """The function has so many paths that following them will take a while."""


@dataclass(frozen=True)
class Estimate:
    """How many paths a function has, guessed from random walks, and which variable multiplies."""

    paths: float
    variable: str
    size: int

    def __str__(self) -> str:
        return f"about {self.paths:,.0f} paths; {self.variable!r} multiplies them by {self.size}"


def explore(
    function: FfnFunction,
    variables: Mapping[str, Variable],
    *,
    read_only: frozenset[str] = frozenset(),
    max_paths: int = 1_000_000,
) -> list[Rule]:
    """The rules of `function`; a variable of `read_only` (a head's output) may not be written."""
    explorer = _Explorer(function, variables, read_only)
    _warn_or_refuse(explorer.estimate(), max_paths)
    trees = explorer.follow_all_paths(max_paths)
    again = explorer.follow_all_paths(max_paths, backwards=True)
    for output in dict.fromkeys([*trees, *again]):
        if trees.get(output, _KEEP) != again.get(output, _KEEP):
            raise ProgramError(
                f"ffn_fn does not repeat itself: followed twice, it wrote {output!r} differently; "
                "it may depend on nothing but what it reads"
            )
    rules: list[Rule] = []
    for output in variables:
        for rule in _emit(trees.get(output, _KEEP), output, variables):
            rules.append(rule)
            if len(rules) > MOST_RULES:
                raise ProgramError(
                    f"ffn_fn makes more than {MOST_RULES:,} rules by {output!r}: a write needs a "
                    "rule for each old value unless it is read. Split the step into two layers"
                )
    return rules


def estimate_paths(function: FfnFunction, variables: Mapping[str, Variable]) -> Estimate:
    """How many paths `function` has, without following them all.

    A random walk that takes one of n branches at a fork stands for n of them, so the product of
    the forks it met, averaged over walks, estimates the number of leaves (Knuth 1975).
    """
    return _Explorer(function, variables, frozenset()).estimate()


def _warn_or_refuse(estimate: Estimate, max_paths: int) -> None:
    # A tenfold margin: the estimate is right on average, but a single one can be well off.
    if estimate.paths > 10 * max_paths:
        raise _too_many(estimate, max_paths)
    if estimate.paths > WARN_ABOVE:
        warnings.warn(f"ffn_fn has {estimate}", ExplorationWarning, stacklevel=4)


def _too_many(estimate: Estimate, max_paths: int) -> ProgramError:
    return ProgramError(
        f"ffn_fn has {estimate}, more than max_paths = {max_paths:,}. Read "
        f"{estimate.variable!r} only where it decides something, split the step into two layers, "
        "write the rules with a RuleBuilder, or raise max_paths"
    )


# A tree says what happens to one output variable: it keeps its value, is written, or it depends.
# Branches are interned, so that equal subtrees are the same object.


@dataclass(frozen=True, slots=True)
class _Keep:
    pass


@dataclass(frozen=True, slots=True)
class _Write:
    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class _Branch:
    variable: str
    children: tuple[_Tree, ...]


_Tree = _Keep | _Write | _Branch
_KEEP = _Keep()


@dataclass
class _Fork:
    """A read whose branches are being followed: leaf counts when it and its last branch began."""

    began: int
    branch_from: int
    branches: list[dict[str, _Tree]]


def call(function: FfnFunction, view: View) -> View:
    """The view after `function` was called on it; ProgramError if it is not such a function."""
    try:
        returned = function(view)
    except Exception as error:
        if view.error is None:
            kind = type(error).__name__
            view.error = ProgramError(f"ffn_fn raised {kind}: {error} ({view.where()})")
            view.error.__cause__ = error
    if view.error is not None:
        raise view.error
    if inspect.isgenerator(returned) or inspect.isawaitable(returned):
        raise ProgramError("ffn_fn is a generator or a coroutine; make it a plain function")
    if isinstance(returned, Mapping) and returned is not view:
        raise ProgramError(
            f"ffn_fn returned a {type(returned).__name__}; it must change its argument in place"
        )
    return view


class _Explorer:
    def __init__(
        self,
        function: FfnFunction,
        variables: Mapping[str, Variable],
        read_only: frozenset[str],
    ) -> None:
        self.function, self.variables, self.read_only = function, variables, read_only
        self._branches: dict[tuple[str, str, tuple[object, ...]], _Branch] = {}

    def run(self, path: list[tuple[str, int]], choose: Callable[[int], int]) -> View:
        """The view after one run, which followed `path` and extended it by `choose`."""
        return call(self.function, View(self.variables, self.read_only, path, choose))

    def estimate(self) -> Estimate:
        pick = random.Random(0)
        total, multiplied = 0.0, dict.fromkeys(self.variables, 0.0)
        for _ in range(PROBES):
            path = self.run([], pick.randrange).path
            sizes = {name: len(self.variables[name].values) for name, _ in path}
            weight = math.prod(map(float, sizes.values()))
            total += weight
            for name, size in sizes.items():
                multiplied[name] += weight * math.log(size)
        worst = max(multiplied, key=multiplied.__getitem__, default="")
        size = len(self.variables[worst].values) if worst else 1
        return Estimate(total / PROBES, worst, size)

    def follow_all_paths(self, max_paths: int, *, backwards: bool = False) -> dict[str, _Tree]:
        """What happens to each output variable that any path writes; `backwards` from the last."""
        step = -1 if backwards else 1
        path: list[tuple[str, int]] = []
        forks: list[_Fork] = []
        for leaf in range(max_paths):
            done = self._follow(path, backwards=backwards)
            forks.extend(_Fork(leaf, leaf, []) for _ in range(len(path) - len(forks)))
            while path:
                name, code = path[-1]
                forks[-1].branches.append(done)
                if 0 <= code + step < len(self.variables[name].values):
                    path[-1], forks[-1].branch_from = (name, code + step), leaf + 1
                    break
                path.pop()
                done = self._fold(name, forks.pop().branches[::step])
            else:
                return done
        raise _too_many(self._extrapolate(path, forks, max_paths), max_paths)

    def _extrapolate(
        self, path: list[tuple[str, int]], forks: list[_Fork], leaves: int
    ) -> Estimate:
        """How many paths there may be, from the ones that were open when patience ran out.

        A fork whose finished branches were small next to the one it is in does not multiply.
        """
        sizes = {}
        for (name, code), fork in zip(path, forks, strict=True):
            finished = fork.branch_from - fork.began
            if code == 0 or 2 * finished / code >= leaves - fork.branch_from:
                sizes[name] = len(self.variables[name].values)
        worst = max(sizes, key=sizes.__getitem__, default=path[-1][0])
        return Estimate(
            max(leaves + 1.0, math.prod(map(float, sizes.values()))),
            worst,
            len(self.variables[worst].values),
        )

    def _follow(self, path: list[tuple[str, int]], *, backwards: bool) -> dict[str, _Tree]:
        """What one path does to the variables that it changes."""
        view = self.run(path, lambda size: size - 1 if backwards else 0)
        read = {name: self.variables[name].values[code] for name, code in path}
        return {
            name: _Write(value)
            for name, value in view.writes.items()
            if name not in read or read[name] != value
        }

    def _fold(self, variable: str, branches: list[dict[str, _Tree]]) -> dict[str, _Tree]:
        """The branches of one fork, joined output by output."""
        folded = {}
        for output in dict.fromkeys(name for branch in branches for name in branch):
            children = tuple(branch.get(output, _KEEP) for branch in branches)
            folded[output] = self._join(variable, output, children)
        return folded

    def _join(self, variable: str, output: str, children: tuple[_Tree, ...]) -> _Tree:
        first = children[0]
        if all(child == first for child in children):
            return first
        if variable == output:
            # Under "output = c", to keep the value and to write c are the same.
            written = next((c.value for c in children if isinstance(c, _Write)), None)
            values = self.variables[output].values
            if written is not None and all(
                child == _Write(written) or (child == _KEEP and value == written)
                for child, value in zip(children, values, strict=True)
            ):
                return _Write(written)
        # The output is part of it: 0 and 0.0 are equal, but may belong to different variables.
        parts = tuple(id(c) if isinstance(c, _Branch) else c for c in children)
        identity = (output, variable, parts)
        return self._branches.setdefault(identity, _Branch(variable, children))


def _emit(tree: _Tree, output: str, variables: Mapping[str, Variable]) -> Iterator[Rule]:
    """The rules of one tree: a rule for each way down to a write, and each old value there."""
    stack: list[tuple[_Tree, tuple[Atom, ...]]] = [(tree, ())]
    while stack:
        node, atoms = stack.pop()
        match node:
            case _Branch(variable, children):
                values: tuple[Value, ...] = variables[variable].values
                branches = [
                    (child, (*atoms, Atom(variable, (value,))))
                    for value, child in zip(values, children, strict=True)
                ]
                stack.extend(reversed(branches))
            case _Write(new):
                known = next((a.values for a in atoms if a.variable == output), None)
                for old in known or variables[output].values:
                    if old != new:
                        yield Rule(atoms, output, old, new)
            case _Keep():
                pass
