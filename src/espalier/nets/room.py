"""Whether networks, and what is computed of them, fit into memory, checked before making any.

A system that promises more memory than it has would fill all of it before it refuses.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from espalier.errors import EspalierError, ModelError

NUMBER = 4  # bytes of a float32
LAYER = 1_000  # numbers' worth of memory that a layer takes at least, as objects of torch


def refuse_beyond_memory(
    what: str,
    numbers: int,
    *,
    remedy: str = "ask for something smaller",
    error: type[EspalierError] = ModelError,
) -> None:
    """Raise if so many numbers of float32, of which there may be more in time, do not fit here.

    >>> refuse_beyond_memory("an LSTM of hidden 10**8", 10**16)
    Traceback (most recent call last):
    espalier.errors.ModelError: an LSTM of hidden 10**8 takes 40,000,000 GB of memory at least...
    """
    wanted, there = NUMBER * numbers, machine_bytes()
    if there is not None and wanted > there:
        raise error(
            f"{what} takes {wanted / 1e9:,.0f} GB of memory at least, and this machine has "
            f"{there / 1e9:,.0f} GB; {remedy}"
        )


def machine_bytes() -> int | None:
    """The memory of this machine, or of the container that this process is in; None if unknown.

    >>> (machine_bytes() or 10**8) > 10**7
    True
    """
    found = []
    with suppress(AttributeError, OSError, ValueError):  # not on every system
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for file in ("memory.max", "memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # "max" is no limit
            found.append(int(Path("/sys/fs/cgroup", file).read_text()))
    return min((size for size in found if size > 0), default=None)
