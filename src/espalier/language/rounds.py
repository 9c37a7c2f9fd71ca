"""How often all paths of a function are run again, and in which order each time.

A function that repeats itself does so in any order; a random or counting one does not.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence

Order = Callable[[int], Sequence[int]]  # in which order the values of a variable are tried

# A fair coin that is tossed on a path stays unnoticed in this many runs once in 2,048 times.
RUNS_OF_A_PATH = 12
# Where there are many paths, and the code names nothing that could be a coin, they are run less
# often, down to twice.
RUNS = 20_000
# Where there are few, code that could hold a coin is run up to this often on a path, within so many
# runs and seconds: a coin that comes up once in 100 times is missed once in 1,000.
MOST_RUNS_OF_A_PATH = 700
CHEAP_RUNS = 2_000
CHEAP_SECONDS, LONGEST_WAIT = 0.25, 2.0  # of this thread; by the clock


def rounds(paths: int, *, is_steady: bool) -> Iterator[Order]:
    """The orders in which so many paths are run again, after they were run once from the first."""
    pick, is_patient = random.Random(paths), _patience()
    for number in range(1, _asked(paths, is_steady=is_steady)):
        if number >= RUNS_OF_A_PATH and not is_patient():
            return
        # Backwards, then as it comes: a state that comes round would meet the same order.
        yield _backwards if number == 1 else lambda size: pick.sample(range(size), size)


def _asked(paths: int, *, is_steady: bool) -> int:
    """How often each of so many paths is run."""
    if is_steady:
        return min(max(RUNS // paths, 2), RUNS_OF_A_PATH)
    return min(max(CHEAP_RUNS // paths, RUNS_OF_A_PATH), MOST_RUNS_OF_A_PATH)


def _backwards(size: int) -> Sequence[int]:
    return range(size - 1, -1, -1)


def _patience() -> Callable[[], bool]:
    """Whether time is left: little of this thread, more by the clock, as a machine may be busy."""
    own, clock = time.thread_time() + CHEAP_SECONDS, time.monotonic() + LONGEST_WAIT
    return lambda: time.thread_time() < own and time.monotonic() < clock
