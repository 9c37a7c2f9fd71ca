"""A plain Python function becomes rules: path by path where there are few, else all at once.

Few paths are all run. Many are followed together, with trees in place of values, so that the cost
is that of the rules; the trees are then compared with the function on random assignments. A
function that cannot be followed on trees is run on every path, or refused if there are too many.
"""

from __future__ import annotations

import random
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from espalier.errors import ProgramError
from espalier.language.beginnings import Beginning, BeginningError
from espalier.language.determinism import Reading, read_code
from espalier.language.paths import (
    Estimate,
    Explorer,
    FfnFunction,
    TooManyPathsError,
    call,
    does_not_repeat,
)
from espalier.language.rounds import RUNS_OF_A_PATH
from espalier.language.rules import Rule
from espalier.language.slices import follow
from espalier.language.trees import (
    KEEP,
    NEVER,
    EvaluationError,
    FollowingError,
    Forest,
    Fork,
    Tree,
    count_rules,
    rules_of,
)
from espalier.language.variables import Variable
from espalier.language.view import View

__all__ = ["Estimate", "ExplorationWarning", "FfnFunction", "call", "estimate_paths", "explore"]

T = TypeVar("T")
RUNS_AMONG_THREADS = 20  # in one of which no other thread should draw
FEW_PATHS = 10_000
WARN_ABOVE = 100_000
MOST_RULES = 500_000

# A step on trees counts as this many paths, which it costs and more where trees are deep.
PATHS_OF_A_STEP = 10

# Assignments on which trees and function are compared: random ones, and ones for a tree's leaves.
TRIALS = 100
MOST_DIRECTED_TRIALS = 400
# A function that changes its tables is tried with its first ones: so many copies, so many seconds.
TRIALS_FROM_THE_START, SECONDS_FROM_THE_START = 24, 0.5


class ExplorationWarning(UserWarning):
    """The function has so many paths that following them will take a while."""


def explore(
    function: FfnFunction,
    variables: Mapping[str, Variable],
    *,
    read_only: frozenset[str] = frozenset(),
    max_paths: int = 1_000_000,
    beginning: Beginning | None = None,
) -> list[Rule]:
    """The rules of `function`; a variable of `read_only` (a head's output) may not be written.

    At most `max_paths` paths are run, or a tenth as many steps are taken on trees. `beginning` is
    the function before it was first called, if it was.
    """
    reading, beginning = read_code(function), beginning or Beginning(function)

    def run() -> tuple[Explorer, dict[str, Tree]]:
        explorer = Explorer(function, Forest(variables), read_only)
        return explorer, _checked(explorer, reading, max_paths)

    explorer, trees = refuse_drawing(run, is_steady=reading is not None)
    if beginning.is_past():
        _check_from_the_start(explorer, beginning, trees)
    if not trees and explorer.copied:
        raise ProgramError(
            "ffn_fn reads everything and writes nothing; if it changes a copy of its argument, "
            "have it change the argument itself"
        )
    settled = {name: explorer.forest.settle(tree, name) for name, tree in trees.items()}
    _refuse_many_rules(settled, variables)
    names = [name for name in variables if name in settled]
    return [rule for name in names for rule in rules_of(settled[name], name, variables)]


def _checked(explorer: Explorer, reading: Reading | None, max_paths: int) -> dict[str, Tree]:
    """What happens to each variable, refused where it was not the same each time."""
    explorer.is_steady = reading is not None
    trees = _trees(explorer, max_paths)
    if reading is not None and not reading.unchanged():
        explorer.is_steady = False  # it changed a table, so it may depend on its past calls
        trees = _trees(explorer, max_paths)
    wrong = explorer.check_probes(trees)
    if wrong is not None:
        raise does_not_repeat(wrong)
    explorer.refuse_null_tests()
    return trees


def _check_from_the_start(
    explorer: Explorer, beginning: Beginning, trees: Mapping[str, Tree]
) -> None:
    """Refuse a function that stored what it computed first, and may compute something else."""
    until = time.monotonic() + SECONDS_FROM_THE_START
    for number in range(RUNS_OF_A_PATH):
        pick = random.Random(number + 2)
        try:
            explorer.function = beginning.again()
            tried = _tried(explorer, trees, pick, TRIALS_FROM_THE_START, TRIALS_FROM_THE_START)
            wrong = next((wrong for _, _, wrong in tried if wrong is not None), None)
        except BeginningError:
            return
        except ProgramError:  # of what it shares with the function itself
            wrong = None
        finally:
            explorer.function = beginning.function
        if wrong is not None:
            raise does_not_repeat(wrong)
        if time.monotonic() > until:
            return


def estimate_paths(function: FfnFunction, variables: Mapping[str, Variable]) -> Estimate:
    """How many paths `function` has, without following them all.

    A random walk that takes one of n branches at a fork stands for n of them, so the product of
    the forks it met, averaged over walks, estimates the number of leaves (Knuth 1975).
    """
    return Explorer(function, Forest(variables), frozenset()).estimate()


def _trees(explorer: Explorer, max_paths: int) -> dict[str, Tree]:
    """What happens to each variable, found in the cheaper way."""
    estimate = explorer.estimate()
    patience = min(max_paths, 2 * FEW_PATHS)
    if estimate.paths <= min(FEW_PATHS, max_paths):
        try:
            return explorer.follow_all_paths(patience)
        except TooManyPathsError as error:
            if patience == max_paths:
                estimate = error.estimate
    trees = _sliced(explorer, max_paths)
    if trees is not None:
        return trees
    # A tenfold margin: the estimate is right on average, but a single one can be well off.
    if estimate.paths > 10 * max_paths or (explorer.is_regular and estimate.paths > max_paths):
        raise _too_many(estimate, max_paths)
    if estimate.paths > WARN_ABOVE:
        warnings.warn(f"ffn_fn has {estimate}", ExplorationWarning, stacklevel=4)
    try:
        return explorer.follow_all_paths(max_paths)
    except TooManyPathsError as error:
        raise _too_many(error.estimate, max_paths) from None


def _too_many(estimate: Estimate, max_paths: int) -> ProgramError:
    return ProgramError(
        f"ffn_fn has {estimate}, more than max_paths = {max_paths:,}. Read "
        f"{estimate.variable!r} only where it decides something, split the step into two layers, "
        "write the rules with a RuleBuilder, or raise max_paths"
    )


def _refuse_many_rules(trees: Mapping[str, Tree], variables: Mapping[str, Variable]) -> None:
    """Refuse a function by the number of its rules, before they are made."""
    counts = {name: count_rules(tree, name, variables) for name, tree in trees.items()}
    if sum(counts.values()) <= MOST_RULES:
        return
    worst = max(counts, key=counts.__getitem__)
    asked = sorted(trees[worst].names, key=lambda name: -len(variables[name].values))
    depends = ", ".join(f"{name!r} ({len(variables[name].values)} values)" for name in asked[:4])
    raise ProgramError(
        f"ffn_fn makes more than {MOST_RULES:,} rules by {worst!r}: {counts[worst]:.4g}, one for "
        f"each of its old values and what it depends on, {depends or 'nothing'}"
        f"{', ...' if len(asked) > 4 else ''}. Read the old value where it decides what is "
        "written, or split the step into two layers"
    )


def _sliced(explorer: Explorer, most: int) -> dict[str, Tree] | None:
    """What happens to each variable, followed on trees; None if that cannot be done."""
    explorer.forest.left = most // PATHS_OF_A_STEP
    try:
        trees = _follow_often(explorer)
    except EvaluationError as error:
        explorer.run_at(error.known)  # which says better what is wrong
        return None
    except FollowingError:
        return None
    finally:
        explorer.forest.left = float("inf")
    return trees if _holds(explorer, trees) else None


def _follow_often(explorer: Explorer) -> dict[str, Tree]:
    """What happens to each variable; asked again and again where the code could hold a coin."""
    most, asked = explorer.forest.left, 1 if explorer.is_steady else RUNS_OF_A_PATH
    trees = follow(explorer.function, explorer.forest, explorer.read_only)
    for _ in range(1, asked):
        explorer.forest.left = most
        again = follow(explorer.function, explorer.forest, explorer.read_only)
        for output in {**trees, **again}:
            if trees.get(output, KEEP) is not again.get(output, KEEP):
                raise does_not_repeat(output)
    return trees


def _holds(explorer: Explorer, trees: Mapping[str, Tree]) -> bool:
    """Whether the function does what `trees` say, on random assignments."""
    for codes, view, wrong in _tried(
        explorer, trees, random.Random(1), TRIALS, MOST_DIRECTED_TRIALS
    ):
        if wrong is not None:
            again = (explorer.run_at(codes).writes for _ in range(RUNS_OF_A_PATH))
            if any(writes != view.writes for writes in again):
                raise does_not_repeat(wrong)
            return False
    return True


def _tried(
    explorer: Explorer, trees: Mapping[str, Tree], pick: random.Random, anywhere: int, directed: int
) -> Iterator[tuple[dict[str, int], View, str | None]]:
    """Assignments, what the function does there, and an output of which `trees` say otherwise."""
    sizes = {name: len(spec.values) for name, spec in explorer.variables.items()}
    starts: list[Tree] = [KEEP] * anywhere
    each = min(max(directed // max(len(trees), 1), 4), 24)
    starts += [tree for tree in trees.values() for _ in range(each)]
    for start in starts:
        codes = {name: pick.randrange(size) for name, size in sizes.items()}
        codes |= _way_down(start, pick)
        view = explorer.run_at(codes)
        yield codes, view, explorer.differs(trees, dict(view.path), view.writes)


def _way_down(tree: Tree, pick: random.Random) -> dict[str, int]:
    """The codes on a random way to a leaf; each different branch is as likely."""
    codes = {}
    while isinstance(tree, Fork):
        chosen = pick.choice(
            [child for child in dict.fromkeys(tree.children) if child is not NEVER]
        )
        codes[tree.variable] = pick.choice(
            [code for code, child in enumerate(tree.children) if child is chosen]
        )
        tree = chosen
    return codes


def refuse_drawing(run: Callable[[], T], *, is_steady: bool = False) -> T:
    """What `run` returns; refused if it draws from Python's or numpy's random numbers.

    Where code is steady it cannot draw, so numpy's are only looked at if they are there.
    """
    if not is_steady:
        import numpy.random  # noqa: F401 - its first use sets a state, which is no draw
    before, of_numpy = random.getstate(), _numpy_state()
    found = run()
    drawn = random.getstate() != before
    if drawn and threading.active_count() > 1:  # another may have, as those of a dask worker do
        drawn = _draws(run)
    if drawn or (of_numpy is not None and _numpy_state() != of_numpy):
        raise ProgramError(
            "ffn_fn does not repeat itself: random numbers were drawn while it ran; it may depend "
            "on nothing but what it reads"
        )
    return found


def _draws(run: Callable[[], object]) -> bool:
    """Whether Python's random numbers are drawn each time; other threads draw now and then."""
    for _ in range(RUNS_AMONG_THREADS):
        before = random.getstate()
        run()
        if random.getstate() == before:
            return False
    return True


def _numpy_state() -> object:
    numpy = sys.modules.get("numpy.random")
    if numpy is None:
        return None
    numbers, place = numpy.get_state()[1:3]
    return bytes(numbers), place
