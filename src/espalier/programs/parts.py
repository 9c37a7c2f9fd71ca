"""Many inputs, a part at a time, by whatever workers there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from espalier.runs import Job, Workers, run_jobs

PART = 256  # inputs that a worker is given at once

Progress = Callable[[int, int], None]  # inputs done, inputs in all
Input = TypeVar("Input")
Found = TypeVar("Found")


def by_parts(
    function: Callable[..., Found],
    inputs: Sequence[Input],
    settings: tuple[object, ...],
    *,
    workers: Workers,
    progress: Progress | None = None,
) -> list[Found]:
    """What `function` returns for every part and the same settings, in the order of the inputs.

    >>> by_parts(lambda some, start: sum(some, start), range(300), (0,), workers=Workers())
    [32640, 12210]
    """
    jobs = [
        Job(f"{first:09d}", (inputs[first : first + PART], *settings))
        for first in range(0, len(inputs), PART)
    ]
    found, done = {}, 0
    for job, one in run_jobs(function, jobs, workers):
        found[job.name] = one
        done += len(job.arguments[0])
        if progress is not None:
            progress(done, len(inputs))
    return [found[job.name] for job in jobs]
