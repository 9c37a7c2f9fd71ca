"""A dask scheduler seen from the process that gives it jobs: reached, watched, and told when gone.

What goes wrong is told in one line: nobody answers, no worker is there or has what a job wants, or
the scheduler goes away.
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

ANSWER_SECONDS = 30  # in which a scheduler, on a busy machine too, should answer
LOOK_SECONDS = 2.0  # between two looks whether there still is a worker
AHEAD = 4  # jobs that a cluster is given for each of its threads
GPU = "GPU"  # the resource that workers with a device are tagged with
_TALKING = ("client", "core", "comm.core", "comm.tcp", "utils")


@contextmanager
def connected(address: str) -> Iterator[Scheduler]:
    """A block with the scheduler at an address; jobs that have not ended then are given up."""
    talk = [logging.getLogger(f"distributed.{part}") for part in _TALKING]
    before = [one.disabled for one in talk]
    for one in talk:
        one.disabled = True  # tracebacks of what is told in a line here
    try:
        with _client(address) as client:
            yield Scheduler(client, address)
    finally:
        for one, was in zip(talk, before, strict=True):
            one.disabled = was


@dataclass
class Scheduler:
    """Takes jobs and gives back what they return.

    It says so, once, when there is no worker who could do what is waited for.
    """

    client: Any
    address: str
    told: bool = False

    def has_room(self, given: int) -> bool:
        """Whether jobs are to be given to it beside so many."""
        with self._while_there():
            return bool(given < AHEAD * max(1, sum(self.client.nthreads().values())))

    def submit(self, name: str, gpu: bool, function: Callable[..., Any], *arguments: Any) -> Any:
        """The future of a job; where no worker has the GPU it wants, nobody would ever take it."""
        with self._while_there():
            tags = self._tags(name) if gpu else {}
            return self.client.submit(function, *arguments, pure=False, **tags)

    def next_of(self, ended: SimpleQueue[Any], gpus: Collection[bool]) -> Any:
        """The next future that ends, of jobs that want a GPU or do not, however long it takes."""
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
        """What a job that ended well returned."""
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
            self.told = False
        elif not self.told:
            self.told, lacking = True, f" with a {GPU}" if workers else ""
            warnings.warn(
                f"the dask scheduler at {self.address} has no worker{lacking} at present; waiting "
                f"for one, to be started by: {self._start(gpus)}",
                stacklevel=2,
            )

    def _resources(self) -> list[dict[str, float]]:
        """Of every worker; some versions of dask tell five of them by default."""
        found = self.client.scheduler_info(n_workers=-1)["workers"].values()
        return [one["resources"] for one in found]

    def _start(self, gpus: Collection[bool]) -> str:
        tag = f" --resources {GPU}=1" if True in gpus else ""
        return f"dask worker {self.address} --nthreads 1{tag}"

    @contextmanager
    def _while_there(self) -> Iterator[None]:
        """A block in which a scheduler that goes away is told as that."""
        try:
            yield
        except (OSError, CancelledError) as error:
            raise EspalierError(
                f"the dask scheduler at {self.address} is gone; what was done is kept, and the "
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
            f"no dask scheduler answers at {address}: nothing that it understands was said in "
            f"{ANSWER_SECONDS} s"
        ) from error
    except (OSError, ValueError, TypeError, ImportError, RuntimeError) as error:
        # Nobody answers, it is no address, or there is no certificate for tls.
        raise ConfigError(f"no dask scheduler answers at {address}: {error}") from error
    raise ConfigError(f"{address} is the address of a dask {kind}, not of a scheduler")


async def _kind(address: str) -> str:
    """What listens at an address; `Client` itself would wait for ever for what is not of dask."""
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
