"""Several pieces of work on one device at once, each of which alone would leave much of it idle."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

import torch

from espalier.training.loop import interruptible

Item = TypeVar("Item")
Found = TypeVar("Found")

AT_ONCE = 4  # small models do not fill a large device, and four of them nearly do


def side_by_side(
    work: Callable[[Item], Found],
    items: Sequence[Item],
    *,
    device: torch.device,
    at_once: int = AT_ONCE,
) -> list[Found]:
    """What `work` makes of every item, in order: on CUDA several at a time, elsewhere one.

    If one fails or Ctrl-C comes, the others save where they are and stop.
    """
    if device.type != "cuda" or at_once == 1:
        return [work(item) for item in items]
    with interruptible() as interrupted, quick_turns(), ThreadPoolExecutor(at_once) as pool:
        futures = [pool.submit(work, item) for item in items]
        failures = _wait(futures)
        if failures:
            interrupted.set()
            pool.shutdown(wait=True, cancel_futures=True)
        # An error before the word of those that stopped because of it.
        for failure in sorted(failures, key=lambda one: isinstance(one, KeyboardInterrupt)):
            raise failure
        return [future.result() for future in futures]


@contextmanager
def quick_turns() -> Iterator[None]:
    """Threads that only launch work do not wait long for one that computes in Python."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _wait(futures: Sequence[Future[Found]]) -> list[BaseException]:
    """The errors as soon as there are any; none when all is done."""
    unfinished = set(futures)
    while unfinished:
        # Now and then, not once: a signal that another thread took is heard when this one wakes.
        done, unfinished = wait(futures, timeout=0.5, return_when=FIRST_EXCEPTION)
        failures = [failure for one in done if (failure := one.exception()) is not None]
        if failures:
            return failures
    return []
