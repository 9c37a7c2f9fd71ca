"""The peak memory of this process."""

from __future__ import annotations

import resource
import sys
from pathlib import Path


def resident_bytes() -> int:
    """The peak resident memory of this process, in bytes.

    From /proc where there is one: getrusage also counts the parent's memory when it forked.

    >>> resident_bytes() > 1_000_000
    True
    """
    status = Path("/proc/self/status")
    if status.exists():
        peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(peak.split()[1]) * 1024
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return held if sys.platform == "darwin" else held * 1024


def peak_bytes() -> int:
    """The peak memory on CUDA if it is used here, else of this process, in bytes.

    >>> peak_bytes() > 0
    True
    """
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        return int(torch.cuda.max_memory_allocated())
    return resident_bytes()
