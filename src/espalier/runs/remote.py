"""How a dask worker runs a job: as the process would that submitted it.

It works in that process's folder, with its data, and only with the same code. When that process
has ended, the job is interrupted as by Ctrl-C, and releases its run's folder.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from espalier.errors import ConfigError
from espalier.runs.lock import patience
from espalier.version import __version__

LET_GO_SECONDS = 30.0  # enough for an interrupted job to release its folder
LOOK_SECONDS = 0.5  # between two checks that a job is still wanted
DATA = "ESPALIER_DATA"


@dataclass(frozen=True)
class Caller:
    """What a worker has to know of the process that submits jobs."""

    folder: str
    data: str | None
    code: str

    @classmethod
    def here(cls) -> Caller:
        """This process."""
        given = os.environ.get(DATA)
        data = None if given is None else str(Path(given).resolve())
        return cls(str(Path.cwd()), data, code_here())


@cache
def code_here() -> str:
    """The versions of espalier and torch, with a digest of espalier's own code.

    >>> code_here().startswith("espalier 0.")
    True
    """
    whole, place = hashlib.sha256(), Path(__file__).parents[1]
    for file in sorted(place.rglob("*.py")):
        whole.update(str(file.relative_to(place)).encode() + file.read_bytes())
    try:
        torch = version("torch").partition("+")[0]
    except PackageNotFoundError:
        torch = "none"
    return f"espalier {__version__} (code {whole.hexdigest()[:8]}), torch {torch}"


def do_there(caller: Caller, function: Callable[..., Any], *arguments: Any) -> Any:
    """The function's result on a dask worker; an error has a note that names the worker."""
    from distributed import Reschedule, get_worker

    worker = get_worker()
    if code_here() != caller.code:
        raise ConfigError(
            f"the worker {worker.name} at {worker.address} has {code_here()}, and this process "
            f"{caller.code}; install the same for both"
        )
    try:
        with _as_if_there(caller), patience(LET_GO_SECONDS), _while_wanted(worker):
            return function(*arguments)
    except KeyboardInterrupt:
        raise Reschedule from None  # in case it is still wanted
    except Exception as failure:
        failure.add_note(f"by the worker {worker.name} at {worker.address}")
        raise


def with_remedy(failure: BaseException, caller: Caller) -> BaseException:
    """A job's own error; if the job or its result could not be unpickled, one that says what to do.

    >>> here = Caller("/shared", None, "espalier 0.1.0")
    >>> print(with_remedy(ImportError("No module named 'espalier'"), here))
    it cannot be read there (No module named 'espalier'); scheduler and workers need ...
    """
    if getattr(failure, "__notes__", ()) or isinstance(failure, ConfigError):
        return failure
    cause = failure.__cause__ or failure  # dask wraps it in a long message
    found = ConfigError(
        f"it cannot be read there ({cause}); scheduler and workers need what this process has: "
        f"{caller.code}"
    )
    found.__cause__ = failure
    return found


@contextmanager
def _as_if_there(caller: Caller) -> Iterator[None]:
    """A block in the caller's folder, if it exists here, and with its data, unless set here."""
    before, own = Path.cwd(), os.environ.get(DATA)
    with suppress(OSError):
        os.chdir(caller.folder)
    if own is None and caller.data is not None:
        os.environ[DATA] = caller.data
    try:
        yield
    finally:
        os.chdir(before)
        if own is None:
            os.environ.pop(DATA, None)


@contextmanager
def _while_wanted(worker: Any) -> Iterator[None]:
    """A block that is interrupted, as by Ctrl-C, once the scheduler has cancelled its job."""
    key, thread = worker.get_current_task(), ctypes.c_ulong(threading.get_ident())
    ended, ending = threading.Event(), threading.Lock()
    interrupt = ctypes.pythonapi.PyThreadState_SetAsyncExc

    def watch() -> None:
        while not ended.wait(LOOK_SECONDS):
            task = worker.state.tasks.get(key)
            if task is None or task.state == "cancelled":
                with ending:
                    if not ended.is_set():
                        interrupt(thread, ctypes.py_object(KeyboardInterrupt))
                return

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        with ending:
            ended.set()
        interrupt(thread, None)  # cancels an interrupt on its way
