"""Training's pace by the way it attends: `python -m benchmarks.attention_pace [--each 10]`.

Steps a second of parity with 8 layers and of SCAN with 2 and 6, at the paper's sizes, on CUDA: with
our Triton kernels, with torch's scaled_dot_product_attention, and product by product as
torch.compile fuses it. All else is done layer by layer and operation by operation. Each way has a
process of its own, since compiled functions are cached; ways take turns.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import replace

from benchmarks.harness import report
from espalier.experiments import end_to_end, translators
from espalier.nets.transformer import model, sublayers
from espalier.runs import choose_device

WAYS = ("kernels", "torch", "products")


def learners(scale: str) -> dict:
    """Configs by name; without shared weights, with relative positions."""
    layers = {"paper": (8, 2, 6), "small": (2, 1, 2), "smoke": (1, 1, 2)}[scale]
    found = {}
    for name, all_, depths in (
        ("parity", end_to_end(scale), layers[:1]),
        ("scan", translators(scale), layers[1:]),
    ):
        for one in all_:
            own = one.shape.positions == "relative" and not one.shape.shared
            if own and one.shape.layers in depths:
                found[f"{name} {one.shape.layers}"] = replace(one, seeds=1)
    return found


def paces(way: str, args: argparse.Namespace) -> dict[str, float]:
    """Steps a second of every learner, attending one way; printed as JSON for who started this."""
    sublayers.ATTENTION, model.LAYERS = way, "one by one"
    device, found = choose_device(args.device), {}
    for name, config in learners(args.scale).items():
        learner = config.prepare(device).learner
        learner.advance(20)  # compiled, recorded, warm
        began, steps = time.monotonic(), 0
        while time.monotonic() - began < args.each:
            learner.advance(20)
            steps += 20
        found[name] = steps / (time.monotonic() - began)
        del learner
    return found


def compared(args: argparse.Namespace) -> list[dict]:
    """The best of each way's turns, and how many times as fast the kernels are."""
    best: dict = defaultdict(dict)
    for _ in range(args.turns):
        for way in args.ways:
            words = [sys.executable, "-m", "benchmarks.attention_pace", "--one", way]
            words += ["--each", str(args.each), "--scale", args.scale, "--device", args.device]
            done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
            for name, pace in json.loads(done.stdout.splitlines()[-1]).items():
                best[name][way] = max(pace, best[name].get(way, 0.0))
    return [
        {"learner": name}
        | {f"{way} steps/s": pace for way, pace in found.items()}
        | {f"kernels / {way}": found["kernels"] / found[way] for way in found if way != "kernels"}
        for name, found in best.items()
    ]


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    parser.add_argument("--one", choices=WAYS, help="this way alone, as JSON")
    parser.add_argument("--each", type=float, default=10.0, help="seconds a learner and turn")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--scale", default="paper", choices=("smoke", "small", "paper"))
    parser.add_argument("--device", default="auto")
    args = parser.parse_args(words)
    if args.one:
        print(json.dumps(paces(args.one, args)))
    else:
        report("attention-pace", compared(args))


if __name__ == "__main__":
    main()
