"""All pairs of one sentence on one thread: ours and an expert's plain torch by turns.

    python -m benchmarks.one_sentence [--words 25] [--hidden 400] [--times 60]

Milliseconds on the clock and of the processor, the best and the median of the calls; where other
processes share the machine compare the two within a run. Words and weights are random.
"""

from __future__ import annotations

import argparse
import time
from statistics import median
from typing import Any

import torch

import espalier as es
from benchmarks.harness import report
from benchmarks.lengths import random_sentences
from benchmarks.plain_pairs import all_pairs

WAYS = {"espalier": es.interdependence, "plain torch": all_pairs}


def measure(model, tokens: list[int], times: int) -> list[dict[str, Any]]:
    """A row for each way, after three calls to warm up."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    clock: dict[str, list[float]] = {name: [] for name in WAYS}
    processor: dict[str, list[float]] = {name: [] for name in WAYS}
    for number in range(-3, times):
        for name, work in WAYS.items():
            began = time.perf_counter(), time.process_time()
            work(model, tokens)
            if number >= 0:
                clock[name].append(1e3 * (time.perf_counter() - began[0]))
                processor[name].append(1e3 * (time.process_time() - began[1]))
    torch.set_num_threads(threads)
    return [
        {
            "way": name,
            "words": len(tokens),
            "best, ms": min(clock[name]),
            "median, ms": median(clock[name]),
            "best of the processor, ms": min(processor[name]),
            "median of the processor, ms": median(processor[name]),
        }
        for name in WAYS
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", type=int, default=25)
    parser.add_argument("--hidden", type=int, default=400)
    parser.add_argument("--times", type=int, default=60)
    args = parser.parse_args()
    model = es.language_model(vocabulary_size=12_277, hidden=args.hidden, seed=0)
    [tokens] = random_sentences([args.words], 12_277)
    rows = measure(model, tokens, args.times)
    report("one_sentence", rows)
    ours, plain = (row["median of the processor, ms"] for row in rows)
    print(f"plain torch takes {plain / ours:.2f} times as long (medians of the processor)")


if __name__ == "__main__":
    main()
