"""A connection to a dask scheduler, from the process that submits jobs to it.

Failures are reported in one line: nothing answers, there is no worker or none with the device that
a job needs, or the scheduler goes away.
"""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from espalier.errors import ConfigError, EspalierError

ANSWER_SECONDS = 30  # enough for a scheduler on a busy machine to answer
LOOK_SECONDS = 2.0  # between two checks that there still is a worker
AHEAD = 4  # jobs that a cluster is given for each of its threads
GPU = "GPU"  # the resource that workers with a device are tagged with
_TALKING = ("client", "core", "comm.core", "comm.tcp", "utils")


@contextmanager
def connected(address: str) -> Iterator[Scheduler]:
    """A block with the scheduler at an address; jobs unfinished at its end are abandoned."""
    talk = [logging.getLogger(f"distributed.{part}") for part in _TALKING]
    before = [one.disabled for one in talk]
    for one in talk:
        one.disabled = True  # no tracebacks of what is reported in a line here
    try:
        with _client(address) as client:
            yield Scheduler(client, address)
    finally:
        for one, was in zip(talk, before, strict=True):
            one.disabled = was


@dataclass
class Scheduler:
    """Takes jobs and returns their results.

    It warns, once, while no worker could do the jobs that are waited for.
    """

    client: Any
    address: str
    warned: bool = False

    def has_room(self, given: int) -> bool:
        """Whether it takes more jobs than those already given to it."""
        with self._while_there():
            return bool(given < AHEAD * max(1, sum(self.client.nthreads().values())))

    def submit(self, name: str, gpu: bool, function: Callable[..., Any], *arguments: Any) -> Any:
        """The future of a job; an error if it needs a GPU and no worker has one."""
        with self._while_there():
            tags = self._tags(name) if gpu else {}
            return self.client.submit(function, *arguments, pure=False, **tags)

    def next_of(self, ended: SimpleQueue[Any], gpus: Collection[bool]) -> Any:
        """Wait for the next future to end; `gpus` says whether the waiting jobs need a GPU."""
        seconds = 0.0
        with self._while_there():
            while True:
                try:
                    future = ended.get(timeout=seconds)
                except Empty:
                    self._look(gpus)
                    seconds = LOOK_SECONDS
                else:
                    if future.status == "cancelled":
                        raise OSError("the connection was lost")
                    return future

    def result(self, future: Any) -> Any:
        """The result of a job that succeeded."""
        with self._while_there():
            return future.result()

    def _tags(self, name: str) -> dict[str, Any]:
        workers = self._resources()
        if workers and not any(one.get(GPU) for one in workers):
            raise ConfigError(
                f"{name} wants a GPU, and none of the cluster's {len(workers)} workers has one; "
                f"start some by: {self._start({True})}"
            )
        return {"resources": {GPU: 1}}

    def _look(self, gpus: Collection[bool]) -> None:
        workers = self._resources()
        if all(any(one.get(GPU) or not gpu for one in workers) for gpu in gpus):
            self.warned = False
        elif not self.warned:
            self.warned, lacking = True, f" with a {GPU}" if workers else ""
            warnings.warn(
                f"the dask scheduler at {self.address} has no worker{lacking} at present; waiting "
                f"for one, to be started by: {self._start(gpus)}",
                stacklevel=2,
            )

    def _resources(self) -> list[dict[str, float]]:
        """The resources of every worker; some versions of dask list only five by default."""
        found = self.client.scheduler_info(n_workers=-1)["workers"].values()
        return [one["resources"] for one in found]

    def _start(self, gpus: Collection[bool]) -> str:
        tag = f" --resources {GPU}=1" if True in gpus else ""
        return f"dask worker {self.address} --nthreads 1{tag}"

    @contextmanager
    def _while_there(self) -> Iterator[None]:
        """A block in which the loss of the scheduler is reported as such."""
        try:
            yield
        except (OSError, CancelledError) as error:
            raise EspalierError(
                f"the dask scheduler at {self.address} is gone; what was done is saved, and the "
                f"same command does the rest once there is a scheduler with workers again"
            ) from error


def _client(address: str) -> Any:
    """A client of the scheduler at an address; a `ConfigError` where none answers."""
    try:
        from distributed import Client
    except ImportError as error:
        raise ConfigError("a cluster needs dask: pip install 'espalier[cluster]'") from error
    try:
        with ThreadPoolExecutor(1) as thread:  # a notebook has a loop of its own
            kind = thread.submit(asyncio.run, _kind(address)).result()
        if kind == "Scheduler":
            return Client(address, timeout=ANSWER_SECONDS, set_as_default=False)
    except TimeoutError as error:
        raise ConfigError(
            f"no dask scheduler answers at {address}: there was no reply in its protocol "
            f"within {ANSWER_SECONDS} s"
        ) from error
    except (OSError, ValueError, TypeError, ImportError, RuntimeError) as error:
        # Nobody answers, it is no address, or there is no certificate for tls.
        raise ConfigError(f"no dask scheduler answers at {address}: {error}") from error
    raise ConfigError(f"{address} is the address of a dask {kind}, not of a scheduler")


async def _kind(address: str) -> str:
    """The kind of dask server at an address; `Client` itself would wait for ever for others."""
    from distributed.comm.core import connect as reach
    from distributed.core import send_recv
    from distributed.security import Security

    async def ask() -> str:
        given = Security().get_connection_args("client")
        comm = await reach(address, timeout=ANSWER_SECONDS, **given)
        try:
            return str((await send_recv(comm, op="identity")).get("type", "server"))
        finally:
            comm.abort()

    return await asyncio.wait_for(ask(), ANSWER_SECONDS + 1)
