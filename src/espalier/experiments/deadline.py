"""A limit on the time that something takes, for machines that are lent by the minute."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def deadline(seconds: float | None) -> Iterator[None]:
    """A block that is interrupted as by Ctrl-C when the seconds are over; None is no limit.

    It also works in a process that a shell started in the background, where Ctrl-C is ignored by
    default.
    """
    if seconds is None:
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.daemon = True
    timer.start()
    try:
        try:
            yield
        finally:
            timer.cancel()
            timer.join()  # a signal sent at the last moment arrives here, not after the block
    finally:
        signal.signal(signal.SIGINT, before)
