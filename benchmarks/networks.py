"""All pairs of words of one sentence through networks of every kind, beside the definition.

    python -m benchmarks networks
    python -m benchmarks.networks [--words 20] [--width 400] [--layers 6]

Weights and words are random. The definition is one pass for every focus set; a causal Transformer
shares the positions before the later word. Ratios within one run are what counts.
"""

from __future__ import annotations

import argparse
from typing import Any

import torch
from torch import nn

import espalier as es
from benchmarks.harness import best_of, report
from espalier.decomposition import Rules
from espalier.decomposition.network_parts import divide
from espalier.networks import Network

TOKENS = 1000


def networks(width: int, layers: int) -> dict[str, Network]:
    torch.manual_seed(0)
    around = {"embedding": nn.Embedding(TOKENS, width), "decoder": nn.Linear(width, TOKENS)}
    layer = nn.TransformerEncoderLayer(width, 8, 4 * width, batch_first=True, norm_first=True)
    encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).eval()
    return {
        "causal Transformer": es.network(encoder, causal=True, **around),
        "Transformer that sees both ways": es.network(encoder, causal=False, **around),
        "GRU, one layer": es.network(nn.GRU(width, width), **around),
        "LSTM, one layer": es.network(nn.LSTM(width, width), **around),
    }


def definition(net: Network, words: list[int], sets: int) -> None:
    """As many focus sets as pairs and words have, each through the whole sentence."""
    focus = torch.rand(sets, len(words)) < 0.2
    inputs = net.inputs(net.read(words))
    for some in focus.split(16):
        divide(net, inputs, some, rules=Rules(), carry=False)


def measure(args: argparse.Namespace) -> list[dict[str, Any]]:
    words = torch.randint(TOKENS, (args.words,)).tolist()
    pairs = args.words * (args.words - 1) // 2
    rows = []
    for name, net in networks(args.width, args.layers).items():
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", type=int, default=20)
    parser.add_argument("--width", type=int, default=400)
    parser.add_argument("--layers", type=int, default=6)
    report("networks", measure(parser.parse_args()))


if __name__ == "__main__":
    main()
