"""A function run on every path through its reads, one at a time.

A read that was not decided yet is a fork; every path through the forks is run. For each output
variable the forks are then folded from the leaves up: a fork whose branches all agree about that
variable disappears. All paths are run several times, forwards, backwards and in any order, to see
that the function repeats itself.
"""

from __future__ import annotations

import inspect
import math
import random
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass

from espalier.errors import FAULTS, ProgramError
from espalier.language.rounds import Order, rounds
from espalier.language.slices import null_is_tested
from espalier.language.trees import KEEP, Forest, Tree, value_at
from espalier.language.variables import Value
from espalier.language.view import FixedView, View

FfnFunction = Callable[[MutableMapping[str, Value]], object]
Path = list[tuple[str, int]]

PROBES = 48
# As many paths that read the same variables are tried with null for what a head reports.
NULL_TRIALS = 16


@dataclass(frozen=True)
class Estimate:
    """How many paths a function has, guessed from random walks, and which variable multiplies."""

    paths: float
    variable: str
    size: int

    def __str__(self) -> str:
        return f"about {self.paths:,.0f} paths; {self.variable!r} multiplies them by {self.size}"


class TooManyPathsError(Exception):
    """There are more paths than were allowed."""

    def __init__(self, estimate: Estimate) -> None:
        super().__init__(str(estimate))
        self.estimate = estimate


def call(function: FfnFunction, view: View) -> View:
    """The view after `function` was called on it; ProgramError if it is not such a function."""
    try:
        returned = function(view)
    except FAULTS as error:
        if view.error is None:
            kind = type(error).__name__
            view.error = ProgramError(f"ffn_fn raised {kind}: {error} ({view.where()})")
            view.error.__cause__ = error
    if view.error is not None:
        raise view.error
    if _is_left_to_run(returned):
        raise ProgramError("ffn_fn is a generator or a coroutine; make it a plain function")
    if isinstance(returned, Mapping) and returned is not view:
        raise ProgramError(
            f"ffn_fn returned a {type(returned).__name__}; it must change its argument in place"
        )
    view.check_copies()
    return view


def _is_left_to_run(returned: object) -> bool:
    """Whether a function returned what is yet to be run; it is closed, as nothing awaits it."""
    if inspect.isgenerator(returned) or inspect.iscoroutine(returned):
        returned.close()
        return True
    return inspect.isawaitable(returned) or inspect.isasyncgen(returned)


def does_not_repeat(output: str) -> ProgramError:
    """The refusal of a function that did two things to `output` where it read the same."""
    return ProgramError(
        f"ffn_fn does not repeat itself: asked again, it wrote {output!r} differently; it may "
        "depend on nothing but what it reads"
    )


@dataclass
class _OpenFork:
    """A read whose branches are being followed, in the order of `codes`.

    Leaves are counted when it and its last branch began.
    """

    began: int
    branch_from: int
    codes: Sequence[int]
    branches: list[dict[str, Tree]]

    @property
    def sorted_branches(self) -> list[dict[str, Tree]]:
        """The branches, by the codes that they stand for."""
        by_code = dict(zip(self.codes, self.branches, strict=True))
        return [by_code[code] for code in range(len(self.codes))]


class Explorer:
    """Runs a function on paths; `forest` holds the resulting trees."""

    def __init__(self, function: FfnFunction, forest: Forest, read_only: frozenset[str]) -> None:
        self.function, self.forest, self.read_only = function, forest, read_only
        self.variables = forest.variables
        self.probes: list[tuple[Path, dict[str, Value]]] = []
        self.copied, self.is_regular = False, False
        self.is_steady = False  # whether its code says that it repeats itself
        self._with_heads: dict[tuple[str, tuple[str, ...]], list[dict[str, int]]] = {}

    def run(self, path: Path, choose: Callable[[int], int]) -> View:
        """The view after one run, which followed `path` and extended it by `choose`."""
        return self._call(View(self.variables, self.read_only, path, choose))

    def run_at(self, codes: Mapping[str, int]) -> View:
        """The view after a run where variables have these codes, the others their first value."""
        return self._call(FixedView(self.variables, self.read_only, codes))

    def _call(self, view: View) -> View:
        call(self.function, view)
        self.copied = self.copied or view.is_copied
        return view

    def estimate(self) -> Estimate:
        """The number of paths, from random walks, which are remembered as `probes`.

        Where all of them met the same forks, `is_regular`, it is taken for exact.
        """
        pick = random.Random(0)
        weights, multiplied = [], dict.fromkeys(self.variables, 0.0)
        for _ in range(PROBES):
            view = self.run([], pick.randrange)
            self.probes.append((view.path, view.writes))
            sizes = {name: len(self.variables[name].values) for name, _ in view.path}
            weight = math.prod(map(float, sizes.values()))
            weights.append(weight)
            for name, size in sizes.items():
                multiplied[name] += weight * math.log(size)
        worst = max(multiplied, key=multiplied.__getitem__, default="")
        size = len(self.variables[worst].values) if worst else 1
        self.is_regular = len(set(weights)) == 1
        return Estimate(sum(weights) / PROBES, worst, size)

    def follow_all_paths(self, most: int) -> dict[str, Tree]:
        """What happens to each output variable that any path writes; asked several times."""
        trees, paths = self._follow_all(most, range)
        for order in rounds(paths, is_steady=self.is_steady):
            again, _ = self._follow_all(most, order)
            for output in {**trees, **again}:
                if trees.get(output, KEEP) is not again.get(output, KEEP):
                    raise does_not_repeat(output)
        return trees

    def _follow_all(self, most: int, order: Order) -> tuple[dict[str, Tree], int]:
        """The trees, and the number of paths; the values of a read are tried in this order."""
        path: Path = []
        forks: list[_OpenFork] = []
        orders: list[Sequence[int]] = []

        def choose(size: int) -> int:
            orders.append(order(size))
            return orders[-1][0]

        for leaf in range(most):
            view = self.run(path, choose)
            self._remember_heads(path)
            done: dict[str, Tree] = {
                name: self.forest.leaf(value) for name, value in view.writes.items()
            }
            forks.extend(_OpenFork(leaf, leaf, codes, []) for codes in orders)
            orders.clear()
            while path:
                name, fork = path[-1][0], forks[-1]
                fork.branches.append(done)
                if len(fork.branches) < len(fork.codes):
                    path[-1], fork.branch_from = (name, fork.codes[len(fork.branches)]), leaf + 1
                    break
                path.pop()
                done = self._fold(name, forks.pop().sorted_branches)
            else:
                return done, leaf + 1
        raise TooManyPathsError(self._extrapolate(path, forks, most))

    def _fold(self, variable: str, branches: list[dict[str, Tree]]) -> dict[str, Tree]:
        """The branches of one fork, joined output by output."""
        outputs = dict.fromkeys(name for branch in branches for name in branch)
        return {
            output: self.forest.fork(variable, [branch.get(output, KEEP) for branch in branches])
            for output in outputs
        }

    def _extrapolate(self, path: Path, forks: list[_OpenFork], leaves: int) -> Estimate:
        """How many paths there may be, from the ones that were open when patience ran out.

        A fork whose finished branches were small next to the one it is in does not multiply.
        """
        sizes = {}
        for (name, _), fork in zip(path, forks, strict=True):
            finished, branches = fork.branch_from - fork.began, len(fork.branches)
            if branches == 0 or 2 * finished / branches >= leaves - fork.branch_from:
                sizes[name] = len(self.variables[name].values)
        worst = max(sizes, key=sizes.__getitem__, default=path[-1][0])
        product = math.prod(map(float, sizes.values()))
        return Estimate(max(leaves + 1.0, product), worst, len(self.variables[worst].values))

    def check_probes(self, trees: Mapping[str, Tree]) -> str | None:
        """An output that the random walks wrote otherwise than `trees`, or None."""
        for path, writes in self.probes:
            found = self.differs(trees, dict(path), writes)
            if found is not None:
                return found
        return None

    def differs(
        self, trees: Mapping[str, Tree], codes: Mapping[str, int], writes: Mapping[str, Value]
    ) -> str | None:
        """An output whose tree asks for what was not read, or says something else than `writes`."""
        read = {name: self.variables[name].values[code] for name, code in codes.items()}
        for output in {**trees, **writes}:
            value = value_at(trees.get(output, KEEP), codes)
            kept = read.get(output, KEEP.value)
            expected = writes.get(output, kept)
            if (kept if value is KEEP.value else value) != expected:
                return output
        return None

    def _remember_heads(self, path: Path) -> None:
        for name, _ in path:
            if name in self.read_only:
                asked = tuple(asked for asked, _ in path)
                paths = self._with_heads.setdefault((name, asked), [])
                if len(paths) < NULL_TRIALS:
                    paths.append(dict(path))

    def refuse_null_tests(self) -> None:
        """Refuse a function that does one thing for None and another for what only resembles it."""
        pick = random.Random(2)
        for path, _ in self.probes:
            self._remember_heads(path)
        for (head, _), paths in self._with_heads.items():
            for codes in paths:
                others = {n: pick.randrange(len(v.values)) for n, v in self.variables.items()}
                found = [self._with(head, null, {**others, **codes}) for null in (None, _Null())]
                if found[0] != found[1]:
                    raise null_is_tested(head)

    def _with(self, head: str, null: object, codes: Mapping[str, int]) -> object:
        """What the function reads and writes if `head` reports `null`; nothing if it fails."""
        view = FixedView(self.variables, self.read_only, codes)
        view.pretend(head, null)
        try:
            call(self.function, view)
        except ProgramError:
            return None
        return view.path, view.writes


class _Null:
    """As false and as unlike any value as None, but not None."""

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "None"
