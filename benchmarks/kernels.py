"""What a training step launches on CUDA: `python -m benchmarks.kernels --only scan --layers 2`.

Takes the arguments of `python -m benchmarks.learn bench`. For every learner chosen: kernels and
their microseconds a step, the longest first.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from torch.profiler import ProfilerActivity, profile

from benchmarks.learn import parse
from benchmarks.learning import describe, learner_of, learners
from espalier.runs import choose_device

STEPS, SHOWN = 10, 40


def main(words: list[str] | None = None) -> None:
    args = parse(["bench", *(sys.argv[1:] if words is None else words)])
    device = choose_device(args.device)
    watched = {ProfilerActivity.CPU, getattr(ProfilerActivity, device.type.upper())}
    for one in learners(args):
        learner = learner_of(one, device)
        learner.advance(20)  # compiled, recorded and warm
        with profile(activities=watched) as profiled:
            learner.advance(STEPS)
        told = [
            (event.self_device_time_total, event.count, event.key)
            for event in profiled.key_averages()
            if event.self_device_time_total
        ]
        print("\n".join([describe(one), *lines(told)]), flush=True)


def lines(told: Iterable[tuple[float, int, str]]) -> list[str]:
    """A total, and the longest kernels by name."""
    found = sorted(told, reverse=True)
    whole = sum(time for time, _, _ in found) / STEPS, sum(count for _, count, _ in found) / STEPS
    rows = [(time / STEPS, count / STEPS, key) for time, count, key in found[:SHOWN]]
    return [
        f"{time:9.1f} us {count:7.1f} x  {key[:100]}"
        for time, count, key in [(*whole, "all"), *rows]
    ]


if __name__ == "__main__":
    main()
