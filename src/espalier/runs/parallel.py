"""Several pieces of work at once: threads on one device, local processes, a dask cluster.

Work that keeps its state in a run folder can be given to another process when its own is killed:
that one resumes it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from espalier.errors import ConfigError

if TYPE_CHECKING:
    import torch

Item = TypeVar("Item")
Result = TypeVar("Result")

AT_ONCE = 4  # small models do not fill a large device, and four of them nearly do


def on_device(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    device: torch.device,
    at_once: int = AT_ONCE,
) -> list[Result]:
    """What `work` returns for every item, in order: on CUDA several at a time, elsewhere one.

    If one fails or Ctrl-C comes, the others save where they are and stop.

    >>> import torch
    >>> on_device(len, ["a", "bc"], device=torch.device("cpu"))
    [1, 2]
    """
    if device.type != "cuda" or at_once == 1:
        return [work(item) for item in items]
    from espalier.runs.loop import interruptible

    with interruptible() as interrupted, _quick_turns(), ThreadPoolExecutor(at_once) as pool:
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
        # Now and then, not once: a signal that another thread took is heard when this one wakes.
        done, unfinished = wait(futures, timeout=0.5, return_when=FIRST_EXCEPTION)
        failures = [failure for one in done if (failure := one.exception()) is not None]
        if failures:
            return failures
    return []


def in_processes(
    function: Callable[..., Result], jobs: Iterable[tuple[Any, ...]], *, workers: int
) -> Iterator[Result]:
    """What `function` returns for each job, in any order, by processes that end with the last.

    Idle processes would hold memory for minutes, and may end just when the next job comes.

    >>> sorted(in_processes(divmod, [(7, 2), (9, 4)], workers=1))
    [(2, 1), (3, 1)]
    """
    try:
        from joblib import Parallel, delayed
        from joblib.externals.loky import get_reusable_executor
    except ImportError as error:
        raise ConfigError(
            "several processes need joblib: pip install joblib, or ask for one worker"
        ) from error
    # Whoever stops early says so in words of their own.
    warnings.filterwarnings("ignore", message=".*tasks which were still being processed")
    pool = Parallel(n_jobs=workers, return_as="generator_unordered")
    try:
        yield from pool(delayed(function)(*job) for job in jobs)
    finally:
        get_reusable_executor().shutdown(wait=True, kill_workers=True)


def on_cluster(
    function: Callable[..., Result], jobs: Iterable[tuple[Any, ...]], *, address: str
) -> list[Result]:
    """What `function` returns for each job on a dask cluster; a job whose worker dies is retried.

    `address` is that of a scheduler whose workers see the same files.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise ConfigError("a cluster needs dask: pip install 'espalier[cluster]'") from error
    try:
        client: Any = Client(address, timeout="5s")
    except OSError as error:
        raise ConfigError(f"no dask scheduler answers at {address}: {error}") from error
    with client:
        futures = [client.submit(function, *job, pure=False, retries=2) for job in jobs]
        found: list[Result] = client.gather(futures)
        return found
