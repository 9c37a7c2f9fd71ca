"""Several pieces of work at once: threads on one device, local processes, a dask cluster.

Work that keeps its state in a run folder can be given to another process when its own is killed:
that one resumes it.
"""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any, TypeVar

from espalier.errors import ConfigError, EspalierError

if TYPE_CHECKING:
    import torch

Item = TypeVar("Item")
Result = TypeVar("Result")

ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}
ANSWER_SECONDS = 30  # in which a scheduler, on a busy machine too, should answer
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


class LostWorkersError(EspalierError):
    """Processes ended while they worked; `jobs` are those they had, each with what ended it.

    >>> str(LostWorkersError([((7, 2), "its process was killed (SIGKILL(-9))")]))[:40]
    'a process was lost while it worked: its '
    """

    def __init__(self, jobs: Sequence[tuple[tuple[Any, ...], str]]) -> None:
        count = "a process was" if len(jobs) == 1 else f"{len(jobs)} processes were"
        super().__init__(
            f"{count} lost while it worked: {jobs[0][1]}; what the others did is kept, and the "
            f"same command does the rest"
        )
        self.jobs = tuple(jobs)


def in_processes(
    function: Callable[..., Result], jobs: Iterable[tuple[Any, ...]], *, workers: int
) -> Iterator[Result]:
    """What `function` returns for each job, in any order, by processes that end with the last.

    Each process is a pool of its own: when one is killed, it is known which job it had, and the
    others go on. Jobs that were lost so are told at the end, by `LostWorkersError`.

    >>> sorted(in_processes(divmod, [(7, 2), (9, 4)], workers=1))
    [(2, 1), (3, 1)]
    """
    try:
        from joblib.externals.loky import ProcessPoolExecutor
        from joblib.externals.loky.process_executor import BrokenProcessPool
    except ImportError as error:
        raise ConfigError(
            "several processes need joblib: pip install joblib, or ask for one worker"
        ) from error
    waiting, lost = iter(jobs), list[tuple[tuple[Any, ...], str]]()
    running: dict[Future[Result], tuple[Any, tuple[Any, ...]]] = {}

    def begin(pool: Any = None) -> None:
        job = next(waiting, None)
        if job is not None:
            pool = pool or ProcessPoolExecutor(1, env=ONE_THREAD)
            with _without_ctrl_c():
                running[pool.submit(function, *job)] = pool, job
        elif pool is not None:
            pool.shutdown(wait=False)

    try:
        for _ in range(workers):
            begin()
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                pool, job = running.pop(future)
                failure = future.exception()
                if isinstance(failure, BrokenProcessPool):
                    lost.append((job, _ending(failure)))
                    pool = None
                begin(pool)
                if pool is not None:
                    yield future.result()
    finally:
        for pool, _ in running.values():
            pool.shutdown(wait=True, kill_workers=True)
    if lost:
        raise LostWorkersError(lost)


@contextmanager
def _without_ctrl_c() -> Iterator[None]:
    """A block whose new processes never hear of Ctrl-C, which reaches all those of a terminal.

    It waits for the end of the block: this process hears of it, and ends the others.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # as it starts, it lets signals through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ending(failure: BaseException) -> str:
    """How a process ended, in words."""
    found = re.search(r"exit codes of the workers are \{(.*)\}", str(failure))
    code = f" ({found[1]})" if found else ""
    return f"its process was killed{code}, perhaps for want of memory"


def on_cluster(
    function: Callable[..., Result], jobs: Iterable[tuple[Any, ...]], *, address: str
) -> Iterator[Result]:
    """What `function` returns for each job on a dask cluster; a job whose worker dies is retried.

    `address` is that of a scheduler whose workers see the same files. Jobs whose workers died
    again and again are told at the end, by `LostWorkersError`.
    """
    try:
        from distributed import Client, KilledWorker
    except ImportError as error:
        raise ConfigError("a cluster needs dask: pip install 'espalier[cluster]'") from error
    try:
        client: Any = Client(address, timeout=ANSWER_SECONDS)
    except OSError as error:
        raise ConfigError(f"no dask scheduler answers at {address}: {error}") from error
    lost = []
    with client:
        given = list(jobs)
        for job, future in [
            (job, client.submit(function, *job, pure=False, retries=2)) for job in given
        ]:
            failure = future.exception()
            if isinstance(failure, KilledWorker):
                lost.append((job, "its worker died again and again"))
            else:
                yield future.result()
    if lost:
        raise LostWorkersError(lost)
