"""Many independent jobs: in this process, by local processes, or on a dask cluster.

Jobs are drawn a few at a time, so there may be any number of them. A job's result depends on its
arguments alone, so it is the same wherever the job runs.
"""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from queue import SimpleQueue
from typing import Any

from espalier.errors import ConfigError, EspalierError, check_kind
from espalier.runs.cluster import Scheduler, connected
from espalier.runs.remote import Caller, do_there, with_remedy

ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}

ALIVE_SECONDS = 0.5  # between two checks that the parent process is alive


@dataclass(frozen=True)
class Job:
    """A name and the arguments of a function; `gpu` if it needs a worker with a GPU.

    >>> Job("first", (7, 2)).arguments
    (7, 2)
    """

    name: str
    arguments: tuple[Any, ...] = ()
    gpu: bool = False


@dataclass(frozen=True)
class Workers:
    """Where jobs run: this process (0), that many processes, or a dask scheduler's workers.

    The workers of a cluster must see the same files as this process.

    >>> Workers(-1)
    Traceback (most recent call last):
    espalier.errors.ConfigError: at least one worker is needed; found workers = -1
    """

    count: int = 0
    cluster: str | None = None

    def __post_init__(self) -> None:
        check_kind("workers", self.count, int, error=ConfigError)
        if self.cluster is not None:
            check_kind("cluster", self.cluster, str, error=ConfigError)
        if self.count < 0:
            raise ConfigError(f"at least one worker is needed; found workers = {self.count}")
        if self.count and self.cluster is not None:
            raise ConfigError(
                f"workers are {self.count}, and a cluster has workers of its own; give one of them"
            )

    @classmethod
    def of(cls, given: AnyWorkers, cluster: str | None = None) -> Workers:
        """`Workers` from a number of processes or a scheduler's address, or as they are.

        `cluster` is the address of a scheduler, where none of these is given.

        >>> Workers.of(2).count, Workers.of("tcp://10.0.0.1:8786").cluster
        (2, 'tcp://10.0.0.1:8786')
        """
        match given:
            case Workers():
                found = given
            case str():
                found = cls(cluster=given)
            case _:
                found = cls(given)
        if cluster is None:
            return found
        if found.cluster is not None:
            raise ConfigError(f"two clusters: {found.cluster} and {cluster}; give one of them")
        return cls(found.count, cluster)


AnyWorkers = Workers | int | str  # every `workers=` takes any of these
HERE = Workers()


class LostWorkersError(EspalierError):
    """Worker processes died; `jobs` are those they were running, each with the reason.

    With `anew`, no results were saved, and the same command starts over.

    >>> str(LostWorkersError([(Job("a"), "its process was killed")]))[:53]
    'a process was lost while it worked: a: its process wa'
    """

    def __init__(self, jobs: Sequence[tuple[Job, str]], *, anew: bool = False) -> None:
        count = "a process was" if len(jobs) == 1 else f"{len(jobs)} processes were"
        named = "; ".join(f"{job.name}: {why}" for job, why in jobs[:4])
        rest = (
            "nothing was saved, and the same command starts over"
            if anew
            else "the other jobs were done, and the same command does the rest"
        )
        super().__init__(f"{count} lost while it worked: {named}; {rest}")
        self.jobs = tuple(jobs)


def run_jobs(
    function: Callable[..., Any], jobs: Iterable[Job], workers: AnyWorkers = HERE
) -> Iterator[tuple[Job, Any]]:
    """Every job with the result of `function` for its arguments, in any order.

    An error ends the iteration; from another process, it has a note that names the job. When a
    worker is killed, the other jobs are still done, and `LostWorkersError` names the lost ones at
    the end.

    >>> [found for _, found in run_jobs(divmod, [Job("a", (7, 2)), Job("b", (9, 4))])]
    [(3, 1), (2, 1)]
    """
    workers = Workers.of(workers)
    if workers.cluster is not None:
        yield from _on_cluster(function, jobs, workers.cluster)
    elif workers.count:
        yield from _in_processes(function, jobs, workers.count)
    else:
        for job in jobs:
            yield job, function(*job.arguments)


def _in_processes(
    function: Callable[..., Any], jobs: Iterable[Job], workers: int
) -> Iterator[tuple[Job, Any]]:
    """Run jobs by processes that end with the last job.

    Each process is a pool of its own, so that the job of a killed one is known.
    """
    from joblib.externals.loky import ProcessPoolExecutor
    from joblib.externals.loky.process_executor import BrokenProcessPool

    waiting, lost, pools = iter(jobs), list[tuple[Job, str]](), list[Any]()
    running: dict[Future[Any], tuple[Any, Job]] = {}

    def begin(pool: Any = None) -> bool:
        """Start the next job; False if there was none left."""
        job = next(waiting, None)
        if job is not None:
            if pool is None:
                pool = ProcessPoolExecutor(
                    1, env=ONE_THREAD, initializer=_end_with, initargs=(os.getpid(),)
                )
                pools.append(pool)  # before its first job: an interrupt may come at any time
            with _uninterrupted(), _without_ctrl_c():
                running[pool.submit(function, *job.arguments)] = pool, job
        elif pool is not None:
            pools.remove(pool)
            pool.shutdown(wait=False)
        return job is not None

    try:
        for _ in range(workers):  # there may be fewer jobs
            if not begin():
                break
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                pool, job = running.pop(future)
                failure = future.exception()
                if isinstance(failure, BrokenProcessPool):
                    pools.remove(pool)
                    lost.append((job, _ending(failure)))
                    begin()
                    continue
                if failure is not None:
                    raise _noted(failure, job)
                begin(pool)
                yield job, future.result()
    finally:
        for pool in pools:
            # As if from outside: loky's own kill_workers may trip over a job that ends meanwhile.
            for process in list((pool._processes or {}).values()):
                _kill(process.pid)
            pool.shutdown(wait=True)
    if lost:
        raise LostWorkersError(lost)


def _end_with(parent: int) -> None:
    """End this process soon after its parent, however that ended."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(ALIVE_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _without_ctrl_c() -> Iterator[None]:
    """A block whose new processes never receive Ctrl-C, which a terminal sends to all of its own.

    This process receives it at the end of the block, and ends the others.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # starting it unblocks signals again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """A block that Ctrl-C and SIGTERM do not end: their handlers run after it.

    A thread may receive what the main one blocks, and Python runs the handler in the main one. A
    worker that was being started would be cut short, or run on unknown to us.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
    mine = [one for one, handler in before.items() if callable(handler)]
    for one in mine:
        signal.signal(one, lambda number, _: received.append(number))
    try:
        yield
    finally:
        for one in mine:
            signal.signal(one, before[one])
        for number in received[:1]:
            signal.raise_signal(number)


def _kill(process: int) -> None:
    """End a process; those of loky have no `kill` of their own on POSIX."""
    with suppress(ProcessLookupError):
        os.kill(process, getattr(signal, "SIGKILL", signal.SIGTERM))


def _ending(failure: BaseException) -> str:
    """How a process ended, for a message."""
    found = re.search(r"exit codes of the workers are \{(.*)\}", str(failure))
    code = f" ({found[1]})" if found else ""
    return f"its process was killed{code}, perhaps for lack of memory"


def _on_cluster(
    function: Callable[..., Any], jobs: Iterable[Job], address: str
) -> Iterator[tuple[Job, Any]]:
    """Run jobs by a scheduler's workers; it gives a job whose worker dies to another worker.

    A job that the scheduler gives up is submitted once more, alone, when all others have ended:
    dask counts a worker's death against every job that the worker held, started or not. If it is
    given up again, it is lost.
    """
    with connected(address) as scheduler:
        given_up = yield from _given(function, jobs, scheduler)
        lost = list[Job]()
        for job in given_up:
            lost += yield from _given(function, [job], scheduler)
    if lost:
        raise LostWorkersError([(job, "its worker died again and again") for job in lost])


def _given(
    function: Callable[..., Any], jobs: Iterable[Job], scheduler: Scheduler
) -> Generator[tuple[Job, Any], None, list[Job]]:
    """The results of jobs, as these end; returns the jobs that the scheduler gave up."""
    from distributed import KilledWorker

    waiting, given_up = iter(jobs), list[Job]()
    caller, given = Caller.here(), dict[Any, Job]()
    ended: SimpleQueue[Any] = SimpleQueue()

    def begin() -> None:
        while scheduler.has_room(len(given)):
            job = next(waiting, None)
            if job is None:
                return
            work = (do_there, caller, function, *job.arguments)
            future = scheduler.submit(job.name, job.gpu, *work)
            given[future] = job
            future.add_done_callback(ended.put)

    begin()
    while given:
        future = scheduler.next_of(ended, {job.gpu for job in given.values()})
        job, failure = given.pop(future), future.exception()
        if isinstance(failure, KilledWorker):
            given_up.append(job)
        elif failure is not None:
            raise _noted(with_remedy(failure, caller), job)
        begin()
        if failure is None:
            found = scheduler.result(future)
            future.release()  # or it would be computed again if its worker died
            yield job, found
    return given_up


def _noted(failure: BaseException, job: Job) -> BaseException:
    """The error, with a note that names its job."""
    failure.add_note(f"in {job.name}")
    return failure
