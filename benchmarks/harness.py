"""Timing, the machine's description, tables and JSON."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from espalier.files import write_text
from espalier.runs import resident_bytes
from espalier.version import __version__

RESULTS = Path(__file__).parent / "results"


def best_of(times: int, work: Callable[[], object]) -> float:
    """Seconds of the fastest of several runs, after one that warms up."""
    work()
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    card = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {
        "espalier": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cpu": f"{platform.machine()}, {os.cpu_count()} cores",
        "threads": torch.get_num_threads(),
        "gpu": card,
    }


def peak_memory_mb() -> float:
    """The most memory this process has held so far."""
    return resident_bytes() / 2**20


def report(name: str, rows: Sequence[dict[str, Any]], *, whole: bool = True) -> None:
    """Print the rows as a table and write them, with the machine, to results/NAME.json.

    Where they are not the `whole` table, an earlier file is left alone.
    """
    where = machine()
    print(f"{name}: {where['cpu']}, {where['threads']} threads, torch {where['torch']}")
    cells = [list(rows[0]), *([_shown(value) for value in row.values()] for row in rows)]
    widths = [max(len(line[place]) for line in cells) for place in range(len(cells[0]))]
    for line in cells:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))
    if not whole:
        return
    RESULTS.mkdir(exist_ok=True)
    write_text(
        RESULTS / f"{name}.json", json.dumps({"machine": where, "rows": list(rows)}, indent=1)
    )


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.3f}" if abs(value) < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
