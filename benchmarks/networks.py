"""All pairs of words in networks of every kind: a sentence against the definition, a treebank.

    python -m benchmarks networks
    python -m benchmarks.networks [--words 20] [--width 400] [--layers 6] [--device cpu]
    python -m benchmarks.networks --treebank-lengths [--device cuda] [--seconds 40]
    python -m benchmarks.networks --table  (every network with every call, into docs/networks.md)

Weights and words are random. The definition is one pass for every focus set; networks that read
from left to right share the positions before the later word. Ratios within one run are what counts.
Sentences as long as a treebank's go through a causal Transformer, length by length: all of a
length, or as many as the time allows, and the rest is counted at the pace of its own length.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from typing import Any

import numpy as np
import torch
from torch import nn

import espalier as es
from benchmarks import network_cells
from benchmarks.harness import best_of, report
from benchmarks.lengths import random_sentences, treebank_lengths
from espalier.decomposition import Rules
from espalier.decomposition.network_parts import divide
from espalier.networks import Network

TOKENS = 1000


def networks(width: int, layers: int, device: str = "cpu") -> dict[str, Network]:
    """Two Transformers, and recurrent networks of one layer, on a device."""
    torch.manual_seed(0)
    around = {"embedding": nn.Embedding(TOKENS, width), "decoder": nn.Linear(width, TOKENS)}
    layer = nn.TransformerEncoderLayer(width, 8, 4 * width, batch_first=True, norm_first=True)
    encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).eval()
    around = {name: part.to(device) for name, part in around.items()}
    return {
        "causal Transformer": es.network(encoder.to(device), causal=True, **around),
        "Transformer that sees both ways": es.network(encoder, causal=False, **around),
        "GRU": es.network(nn.GRU(width, width).to(device), **around),
        "GRU, both ways": es.network(
            nn.GRU(width, width // 2, bidirectional=True).to(device), **around
        ),
        "LSTM, projected": es.network(
            nn.LSTM(width, 2 * width, proj_size=width).to(device), **around
        ),
        "LSTM": es.network(nn.LSTM(width, width).to(device), **around),
    }


def definition(net: Network, words: list[int], sets: int) -> None:
    """As many focus sets as pairs and words have, each through the whole sentence."""
    inputs = net.inputs(net.read(words))
    focus = torch.rand(sets, len(words), device=net.device) < 0.2
    for some in focus.split(16):
        divide(net, inputs, some, rules=Rules(), carry=False)


def measure(args: argparse.Namespace) -> list[dict[str, Any]]:
    """One sentence through every network; the slow way's time from some of its focus sets."""
    words = torch.randint(TOKENS, (args.words,)).tolist()
    pairs = args.words * (args.words - 1) // 2
    rows = []
    for name, net in networks(args.width, args.layers, args.device).items():
        sets = min(pairs + args.words, 32)  # the rest is as many times as much
        slow = best_of(1, lambda net=net, sets=sets: definition(net, words, sets))
        fast = best_of(2, lambda net=net: es.interdependence(net, words))
        whole = slow * (pairs + args.words) / sets
        rows.append(
            {
                "network": name,
                "pairs": pairs,
                "seconds": fast,
                "ms/pair": 1e3 * fast / pairs,
                "definition, s": whole,
                "times as fast": whole / fast,
            }
        )
        print(f"{name}: {fast:.2f} s", flush=True)
    return rows


def check(device: str) -> float:
    """The largest relative difference of DI from the CPU in double precision, of every network."""
    words = [random_sentences([n], TOKENS)[0] for n in (7, 7, 12)]
    worst = 0.0
    here, there = networks(40, 2), networks(40, 2, device)
    for name, net in there.items():
        for space in ("hidden", "logits"):
            found = es.interdependence(net, words, space=space)
            wanted = es.interdependence(here[name].double(), words, space=space)
            for one, other in zip(found, wanted, strict=True):
                upper = np.triu_indices(len(one.words), 1)
                apart = np.abs(one.values - other.values)[upper] / other.values[upper]
                worst = max(worst, float(np.nanmax(apart)))
        moved = es.network(here[name], device=device)
        assert moved.device == net.device
        es.decompose(moved, words[0], focus=[1], space="logits")
    return worst


def treebank(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Pairs a second by length, and how long the whole treebank takes."""
    print(f"largest difference from the CPU in double precision: {check(args.device):.1e}")
    net = networks(args.width, args.layers, args.device)["causal Transformer"]
    counts = Counter(treebank_lengths())
    words = {n: random_sentences([n] * min(count, 400), TOKENS) for n, count in counts.items()}
    es.interdependence(net, words[20][:4])  # warm
    order = sorted((n for n in counts if n > 1), key=lambda n: -counts[n] * n * n)
    began, rows, total, done = time.perf_counter(), [], 0.0, 0
    for place, length in enumerate(order):
        left = args.seconds - (time.perf_counter() - began)
        share = max(0.0, left / (len(order) - place))
        took, sentences = _timed(net, words[length], counts[length], share)
        pairs = length * (length - 1) // 2
        done += pairs * min(sentences, counts[length])
        rows.append({
            "words": length, "sentences": counts[length], "timed": sentences,
            "pairs/s": pairs * sentences / took, "seconds": took * counts[length] / sentences,
        })  # fmt: skip
        total += rows[-1]["seconds"]
    pairs = sum(count * n * (n - 1) // 2 for n, count in counts.items())
    peak = torch.cuda.max_memory_allocated() / 2**30 if net.device.type == "cuda" else float("nan")
    print(f"{pairs:,} pairs, {done:,} of them timed: {total:.0f} s in all, peak {peak:.1f} GiB")
    if total < args.seconds:
        every = random_sentences(treebank_lengths(), TOKENS)
        began = time.perf_counter()
        es.interdependence(net, every)
        print(f"the whole treebank in one call: {time.perf_counter() - began:.1f} s")
    return sorted(rows, key=lambda row: row["words"])


def _timed(net: Network, words: list[list[int]], wanted: int, seconds: float) -> tuple[float, int]:
    """Seconds, and sentences that they were enough for: all that are wanted, or at least one."""
    began, done, size = time.perf_counter(), 0, 1
    while done < wanted:
        some = min(size, wanted - done, len(words))
        es.interdependence(net, words[:some])
        done, size = done + some, 8 * size
        now = time.perf_counter() - began
        if now * (1 + 8 * some / done) > seconds:  # the next would take too long
            break
    return time.perf_counter() - began, done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", type=int, default=20)
    parser.add_argument("--width", type=int, default=400)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--treebank-lengths", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--seconds", type=float, default=40.0)
    args = parser.parse_args()
    if args.table:
        network_cells.fill_page()
    elif args.treebank_lengths:
        report(f"networks-treebank-{args.device}", treebank(args))
    else:
        report("networks", measure(args))


if __name__ == "__main__":
    main()
