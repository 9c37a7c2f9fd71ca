"""How much memory a process has held."""

from __future__ import annotations

import resource
import sys
from pathlib import Path


def resident_bytes() -> int:
    """The most memory that this process has held.

    From /proc where there is one: getrusage also counts what the parent held when it forked.

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
    """The most memory that was held on CUDA if it is used here, else by this process.

    >>> peak_bytes() > 0
    True
    """
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        return int(torch.cuda.max_memory_allocated())
    return resident_bytes()
