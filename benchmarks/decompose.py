"""Every pair of words: microseconds a pair, against the definition and against the arithmetic.

    python -m benchmarks decompose
    python -m benchmarks.decompose [--whole] [--hidden 400] [--workers 2] [--spaces hidden logits]

The corpus has the lengths of UD English-EWT (a tenth of its sentences, all with --whole) and random
words; the weights are random.
What a pair must cost is one product of H x 3H; the rate of PyTorch's is measured in the same run,
by as many threads, on products of the same shape. The
definition is tests/lstm_reference.py: numpy, three decompositions a pair.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch

import espalier as es
from benchmarks.harness import best_of, peak_memory_mb, report
from benchmarks.lengths import random_sentences, treebank_lengths
from benchmarks.one_sentence import measure as on_one_thread
from espalier.decomposition import interdependence_corpus

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import lstm_reference

TYPES = 12_277  # words of English-EWT that WikiText-2 knows
PAIRS = 3_040_242  # of English-EWT


def product_peak(hidden: int, workers: int) -> float:
    """GFLOP/s of H x 3H products by that many threads at once."""
    rows, times = 1024, 20
    right = torch.randn(hidden, 3 * hidden)

    def work(_: int) -> None:
        torch.set_num_threads(1)
        left, out = torch.randn(rows, hidden), torch.empty(rows, 3 * hidden)
        for _ in range(times):
            torch.mm(left, right, out=out)

    threads = torch.get_num_threads()
    with ThreadPoolExecutor(workers) as pool:
        seconds = best_of(3, lambda: list(pool.map(work, range(workers))))
    torch.set_num_threads(threads)
    return 2 * rows * hidden * 3 * hidden * times * workers / seconds / 1e9


def corpus(model, sentences, workers: int, space: str) -> tuple[int, float]:
    began = time.perf_counter()
    blocks = interdependence_corpus(model, sentences, workers=workers, space=space)
    return sum(len(block) for block in blocks), time.perf_counter() - began


def by_definition(model, tokens: list[int], pairs: list[tuple[int, int]]) -> list[float]:
    layers, inputs = lstm_reference.weights_of(model), lstm_reference.embed(model, tokens)
    return [lstm_reference.interdependence(layers, inputs, [a], [b]) for a, b in pairs]


def measure(args: argparse.Namespace) -> list[dict[str, Any]]:
    model = es.language_model(vocabulary_size=TYPES, hidden=args.hidden, seed=0)
    lengths = treebank_lengths()
    sentences = random_sentences(lengths if args.whole else lengths[::10], TYPES)
    peak = product_peak(args.hidden, args.workers)
    limit = 6 * args.hidden**2 / (peak * 1e3)  # microseconds a pair
    rows = []

    def row(what: str, count: int, pairs: int, seconds: float) -> None:
        pair = 1e6 * seconds / pairs
        rows.append(
            {
                "what": what,
                "sentences": count,
                "pairs": pairs,
                "seconds": seconds,
                "ms/sentence": 1e3 * seconds / count,
                "us/pair": pair,
                "share of the product's peak": limit / pair,
                "all of EWT, s": pair * PAIRS / 1e6,
            }
        )
        print(f"{what}: {pair:,.1f} us a pair", flush=True)

    one = sentences[next(k for k, n in enumerate(map(len, sentences)) if n == 25)]
    some = [(0, 24), (11, 12), (3, 17)]
    began = time.perf_counter()
    wanted = by_definition(model, one, some)
    row("the definition, 3 pairs at 25 words", 1, len(some), time.perf_counter() - began)
    pairs = es.interdependence(model, one)
    np.testing.assert_allclose([pairs.values[p] for p in some], wanted, rtol=1e-2, atol=1e-5)
    ways = on_one_thread(model, one, 30)
    ours, plain = (way["best of the processor, ms"] / 1e3 for way in ways)
    row("one sentence of 25 words, one thread", 1, 300, ours)
    row("the same in plain torch", 1, 300, plain)
    print(f"plain torch takes {plain / ours:.2f} times as long (seconds of the processor)")
    for space in args.spaces:
        count, seconds = corpus(model, sentences, args.workers, space)
        row(f"corpus, {space}, {args.workers} threads", len(sentences), count, seconds)
    print(f"peak {peak:.1f} GFLOP/s, arithmetic limit {limit:.1f} us a pair")
    print(f"peak memory {peak_memory_mb():,.0f} MB")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--whole", action="store_true", help="every sentence of the treebank")
    parser.add_argument("--hidden", type=int, default=400)
    parser.add_argument("--workers", type=int, default=torch.get_num_threads())
    parser.add_argument("--spaces", nargs="+", default=["hidden", "logits"])
    report("decompose", measure(parser.parse_args()))


if __name__ == "__main__":
    main()
