"""What things cost as the work grows: rules, positions, layers, batches, sentences.

python -m benchmarks.scaling measures every size of every kind of work in a process of its own:
processor seconds of each step, on one thread (others who use the machine do not count), and the
most memory that the process held until the step's end. It writes results/scaling.json and
docs/results/scaling.md with its figure; with [--only NAME ...] or [--most SIZE] it only prints its
table. With [--out FOLDER] it can be stopped and given again, and [--workers N] or
[--cluster tcp://...] measure several sizes at once, which is for trying: side by side they are
slower.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.harness import machine, peak_memory_mb, report
from benchmarks.scaling_page import with_slopes, write_page
from benchmarks.scaling_work import WORK
from espalier.errors import EspalierError
from espalier.runs import Job, Workers, fill_table, locked
from espalier.runs.folder import read_parquet

ENOUGH, LONG = 0.3, 5.0  # seconds: what is faster is done again, and the fastest time counts
COLUMNS = {"work": "string", "step": "string", "size": "int64", "seconds": "double", "MB": "double"}


def cell(work: str, size: int) -> list[dict[str, Any]]:
    """The rows of one kind of work at one size, measured in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.scaling", "--cell", work, str(size)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode:  # no SystemExit, which would end a worker of a cluster
        raise EspalierError(f"{work} {size}: {found.stderr[-2000:]}")
    rows: list[dict[str, Any]] = json.loads(found.stdout)
    return rows


def measure(work: str, size: int) -> list[dict[str, Any]]:
    """The same, in this process."""
    import torch

    torch.set_num_threads(1)
    rows = []
    for step, run in WORK[work][0](size).items():
        spent, fastest, times = 0.0, float("inf"), 0
        # Twice at least: the first time imports, and what is made once is made. Not what is long.
        while spent < ENOUGH or (times < 2 and spent < LONG):
            began = time.process_time()
            run()
            seconds = time.process_time() - began
            spent, fastest, times = spent + seconds, min(fastest, seconds), times + 1
            if step.endswith("first") or work == "sentences":
                break  # what is there is not made again
        held = {"seconds": fastest, "MB": peak_memory_mb()}
        rows.append({"work": work, "step": step, "size": size} | held)
    return rows


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--cell", nargs=2)
    asked.add_argument("--only", nargs="*", choices=list(WORK))
    asked.add_argument("--most", type=int)
    asked.add_argument("--out", type=Path)
    asked.add_argument("--workers", type=int, default=0)
    asked.add_argument("--cluster")
    given = asked.parse_args()
    if given.cell:
        print(json.dumps(measure(given.cell[0], int(given.cell[1]))))
        return
    jobs = [
        Job(f"{number}-{size:08d}", (work, size))
        for number, (work, (_, sizes)) in enumerate(WORK.items())
        for size in sizes
        if (not given.only or work in given.only) and size <= (given.most or size)
    ]
    with tempfile.TemporaryDirectory() as place:
        folder = given.out or Path(place)
        folder.mkdir(exist_ok=True)
        workers = Workers(given.workers, given.cluster)
        with locked(folder):
            for part in fill_table(folder / "rows", cell, jobs, workers, columns=COLUMNS):
                for row in read_parquet(folder / "rows" / f"part-{part.name}.parquet")[0]:
                    print(json.dumps(row), file=sys.stderr, flush=True)
        files = [folder / "rows" / f"part-{job.name}.parquet" for job in jobs]
        rows = with_slopes([row for file in files for row in read_parquet(file)[0]])
    whole = not given.only and not given.most
    report("scaling", rows, whole=whole)
    if whole:
        write_page(rows, machine())


if __name__ == "__main__":
    main()
