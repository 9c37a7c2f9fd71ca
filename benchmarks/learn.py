"""Training learners of the experiments, on one CUDA device: check a step, and time it.

    python -m benchmarks.learn check [--only scan]        captured steps are the plain ones
    python -m benchmarks.learn bench --out DIR            steps a second, share of the peak

Needs torch, numpy, safetensors and jaxtyping only. For less: --layers A B only those depths,
--match W only what has W in its name. Training itself is `espalier reproduce`.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from dataclasses import replace
from pathlib import Path

import torch

from benchmarks.learning import (
    FILES,
    describe,
    flops,
    learner_of,
    learners,
    small_learners,
    trace_maker,
)
from espalier.experiments import Learner, end_to_end, traced
from espalier.files import write_text
from espalier.learnability.supervision import TraceSettings
from espalier.runs import choose_device, on_device
from espalier.training import StepRecipe, TaskLearner


def check(args: argparse.Namespace) -> None:
    """A captured step is the plain one, and the device agrees with the CPU."""
    device = choose_device(args.device)
    for name, make in small_learners(args.only):
        plain, other = make(torch.device("cpu")), make(device)
        for one in (plain, other):
            one.advance(5)
        state, found = plain.state(), other.state()
        # Losses, not weights: where a gradient is all rounding, an optimiser makes a step of it.
        worst = float((found["loss_sum"] / state["loss_sum"] - 1).abs().max())
        again = make(device)
        again.restore(found)
        again.advance(3)
        other.advance(3)
        same = all(torch.equal(a, b) for a, b in zip(*map(values, (again, other)), strict=True))
        print(
            f"{name:36} CPU against {device.type}: {worst:.1e} (relative); resumed: {same}",
            flush=True,
        )
        if not worst < 1e-2:
            raise SystemExit(f"{name}: the device's losses are not the CPU's")

    if device.type == "cuda" and {"traces", "parity"} <= set(args.only):
        beside(device)


def beside(device: torch.device) -> None:
    """Learners side by side do what each does alone: nothing is shared by accident."""
    parity = [one for one in end_to_end("paper") if one.shape.layers == 8]
    wide = TraceSettings(4, 4096, recipe=StepRecipe(100, 256, 1e-4, "adam"))
    makers = [trace_maker(replace(one, settings=wide)) for one in traced("smoke")[1:]]
    makers += [lambda device, one=one: one.prepare(device).learner for one in parity]

    def losses(make) -> torch.Tensor:
        learner = make(device)
        learner.advance(60)
        return learner.state()["loss_sum"]

    alone = [losses(make) for make in makers]
    for one, other in zip(
        alone, on_device(losses, makers, device=device, at_once=len(makers)), strict=True
    ):
        print(f"alone and beside others: {one.tolist()} {other.tolist()}", flush=True)
        if not torch.equal(one, other):
            raise SystemExit("side by side the losses are others than alone")


def values(learner: TaskLearner) -> list[torch.Tensor]:
    return [tensor for key, tensor in learner.state().items() if key.startswith("weights.")]


def bench(args: argparse.Namespace) -> None:
    """Steps a second of every requested learner, alone and next to the others."""
    args.out.mkdir(parents=True, exist_ok=True)
    device = choose_device(args.device)
    peaks = {name: peak_flops(device, name) for name in ("bfloat16", "tf32", "float32")}
    print({name: f"{peak / 1e12:.0f} TFLOP/s" for name, peak in peaks.items()}, flush=True)
    wanted = learners(args)
    timed = Timed(args.each, device, peaks)
    alone = [timed(one) for one in wanted]
    groups = [wanted[n : n + args.at_once] for n in range(0, len(wanted), args.at_once)]
    beside: dict[str, list] = {}
    for group in groups if args.at_once > 1 and device.type == "cuda" else []:
        timed.start = threading.Barrier(len(group))
        found = on_device(timed, group, device=device, at_once=args.at_once)
        beside.setdefault(f"{len(group)} at once", []).extend(found)
    table = {"alone": alone} | beside
    write_text(args.out / "learn-bench.json", json.dumps({"peaks": peaks} | table) + "\n")


class Timed:
    """Takes steps for some seconds and says how fast they were."""

    def __init__(self, seconds: float, device: torch.device, peaks: dict[str, float]) -> None:
        self.seconds, self.device, self.peaks = seconds, device, peaks
        self.start = threading.Barrier(1)  # where those that are timed together wait for each other

    def __call__(self, one: Learner) -> dict[str, object]:
        began = time.monotonic()
        learner = learner_of(one, self.device)
        learner.advance(5)
        took = time.monotonic() - began
        self.start.wait()
        made, steps = time.monotonic(), 0
        while time.monotonic() - made < self.seconds:
            learner.advance(20)
            steps += 20
        pace = steps / (time.monotonic() - made)
        recipe, work = learner.recipe, flops(one) * pace
        row: dict[str, object] = {"learner": describe(one), "batch": recipe.batch}
        row |= {"made_in": round(took, 1), "steps_per_second": round(pace, 1)}
        row |= {"seconds": round(recipe.steps / pace), "tflops": round(work / 1e12, 1)}
        row |= {"share_of_peak": round(work / self.peaks[recipe.precision], 4)}
        print(json.dumps(row), flush=True)
        return row


def peak_flops(device: torch.device, precision: str) -> float:
    """Of a large product; infinite where it was not measured."""
    if device.type != "cuda":
        return float("inf")
    dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    matrix = torch.randn(8192, 8192, device=device, dtype=dtype)
    for _ in range(3):
        matrix @ matrix
    torch.cuda.synchronize()
    began = time.monotonic()
    for _ in range(10):
        matrix @ matrix
    torch.cuda.synchronize()
    torch.backends.cuda.matmul.allow_tf32 = False
    return 10 * 2 * 8192**3 / (time.monotonic() - began)


def parse(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["check", "bench"])
    parser.add_argument("--scale", default="paper")
    parser.add_argument("--only", nargs="+", default=list(FILES), choices=list(FILES))
    parser.add_argument("--layers", nargs="*", type=int, default=[], help="depths to be trained")
    parser.add_argument("--match", nargs="*", default=[], help="words that a name must have")
    parser.add_argument("--at-once", type=int, default=4, help="learners side by side on CUDA")
    for name in ("steps", "batch", "measures", "seeds"):
        parser.add_argument(f"--{name}", type=int, default=0, help="in place of the scale's own")
    parser.add_argument("--biases", type=float, help="spread of relative biases before training")
    parser.add_argument("--each", type=float, default=3, help="seconds a learner is timed for")
    parser.add_argument("--out", type=Path, default=Path("learned"))
    parser.add_argument("--device", default="auto")
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> None:
    args = parse(words)
    {"check": check, "bench": bench}[args.what](args)


if __name__ == "__main__":
    main()
