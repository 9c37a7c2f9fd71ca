"""Many inputs, processed in parts by the given workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from espalier.runs.jobs import HERE, Job, LostWorkersError, Workers, run_jobs

Counts = Callable[[int, int], None]  # inputs done, inputs in all
Input = TypeVar("Input")
Found = TypeVar("Found")


def by_parts(
    function: Callable[..., Found],
    inputs: Sequence[Input],
    settings: tuple[object, ...] = (),
    *,
    size: int,
    workers: Workers = HERE,
    progress: Counts | None = None,
) -> list[Found]:
    """The results of `function` for every `size` inputs and the settings, in the inputs' order.

    >>> by_parts(sum, range(5), (100,), size=3)
    [103, 107]
    """
    jobs = [
        Job(_named(first, len(some)), (some, *settings))
        for first in range(0, len(inputs), size)
        for some in [inputs[first : first + size]]
    ]
    if len(jobs) == 1 and workers.cluster is None:
        workers = HERE  # one job needs no process of its own
    found, done = {}, 0
    try:
        for job, one in run_jobs(function, jobs, workers):
            found[job.name] = one
            done += len(job.arguments[0])
            if progress is not None:
                progress(done, len(inputs))
    except LostWorkersError as lost:
        raise LostWorkersError(lost.jobs, anew=True) from lost
    return [found[job.name] for job in jobs]


def _named(first: int, count: int) -> str:
    return f"inputs {first:,} to {first + count - 1:,}"
