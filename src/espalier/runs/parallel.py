"""Several tasks at the same time on one device, by threads."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import torch

Item = TypeVar("Item")
Result = TypeVar("Result")

AT_ONCE = 4  # small models do not fill a large device, and four of them nearly do
_LOADING = threading.Lock()


def on_device(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    device: torch.device,
    at_once: int = AT_ONCE,
) -> list[Result]:
    """The results of `work` for all items, in order: on CUDA several at a time, elsewhere one.

    If one fails or Ctrl-C comes, the others save their state and stop.

    >>> import torch
    >>> on_device(len, ["a", "bc"], device=torch.device("cpu"))
    [1, 2]
    """
    if device.type != "cuda" or at_once == 1:
        return [work(item) for item in items]
    from espalier.runs.loop import interruptible

    load_solvers(device)
    with interruptible() as interrupted, _quick_turns(), ThreadPoolExecutor(at_once) as pool:
        futures = [pool.submit(work, item) for item in items]
        failures = _wait(futures)
        if failures:
            interrupted.set()
            pool.shutdown(wait=True, cancel_futures=True)
        # The error is raised, not the interrupts of those that stopped because of it.
        for failure in sorted(failures, key=lambda one: isinstance(one, KeyboardInterrupt)):
            raise failure
        return [future.result() for future in futures]


def load_solvers(device: torch.device) -> None:
    """Load CUDA's part of `torch.linalg`, in one thread only.

    torch loads it at the first call, and two threads that both make one fail with "lazy wrapper
    should be called at most once" (github.com/pytorch/pytorch/issues/90613).
    """
    if device.type == "cuda":
        with _LOADING:
            _solvers(device)


@cache
def _solvers(device: torch.device) -> None:
    import torch

    if torch.cuda.is_available():
        torch.linalg.qr(torch.eye(2, device=device))


@contextmanager
def _quick_turns() -> Iterator[None]:
    """Threads that only launch work do not wait long for one that computes in Python."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _wait(futures: Sequence[Future[Result]]) -> list[BaseException]:
    """The errors as soon as there are any; none when all is done."""
    unfinished = set(futures)
    while unfinished:
        # With a timeout: a signal that another thread received is handled when this one wakes.
        done, unfinished = wait(futures, timeout=0.5, return_when=FIRST_EXCEPTION)
        failures = [failure for one in done if (failure := one.exception()) is not None]
        if failures:
            return failures
    return []
