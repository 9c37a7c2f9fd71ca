"""What training can find, on one CUDA device: check, time, and train at the paper's scale.

    python benchmarks/learn.py check                      captured steps are the plain ones
    python benchmarks/learn.py bench --out DIR            steps a second, share of the peak
    python benchmarks/learn.py run --out DIR --seconds 560 [--only traces readable parity scan]

Needs torch, numpy, safetensors and jaxtyping only. `run` trains one learner after another and stops
after --seconds with its state saved in --runs; the same command goes on from there. Rows of what is
finished are in --out, one JSON object a line, with a manifest: few files, small enough to carry.
For less: --steps N trains every Transformer for N steps, --layers A B only those depths.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import torch

from espalier.compiler import compile_program
from espalier.experiments.alta_table_6 import translator_rows
from espalier.experiments.learners import (
    Learner,
    Read,
    Traced,
    end_to_end,
    folder_of,
    name_of,
    readable,
    traced,
    translators,
)
from espalier.experiments.shelf import Shelf
from espalier.experiments.strings import (
    compiled_cells,
    entry_of,
    read_cells,
    traced_cells,
    training_inputs,
    transformer_cells,
)
from espalier.learnability.lessons import lessons
from espalier.learnability.readable import ReadingTask, shape_for
from espalier.learnability.readings import readings
from espalier.learnability.supervision import trace_learner
from espalier.nets.transformer import TransformerShape, random_transformers
from espalier.storage import write_text
from espalier.training.devices import choose_device
from espalier.training.parity import ParityRun, parity_learner
from espalier.training.progress import Lines
from espalier.training.stacked import StackedLearner, Team
from espalier.training.translation import ScanRun, scan_learner

FILES = {
    "traces": "alta-figure-4",
    "readable": "alta-readable",
    "parity": "alta-table-3",
    "scan": "alta-table-6",
}
KINDS = {Traced: "traces", Read: "readable", ParityRun: "parity", ScanRun: "scan"}


def learners(args: argparse.Namespace) -> list[Learner]:
    """What was asked for, the quick ones first."""
    found: list[Learner] = []
    if "traces" in args.only:
        found += [with_steps(one, args) for one in traced(args.scale)]
    if "readable" in args.only:
        found += [with_steps(one, args) for one in readable(args.scale)]
    runs = [*(end_to_end(args.scale) if "parity" in args.only else ())]
    runs += [*(translators(args.scale) if "scan" in args.only else ())]
    runs = [one for one in runs if not args.layers or one.shape.layers in args.layers]
    return found + [with_steps(one, args) for one in sorted(runs, key=lambda r: r.shape.layers)]


def with_steps(one: Learner, args: argparse.Namespace) -> Learner:
    """The learner with another number of steps or seeds, where they were asked for."""
    if args.seeds:
        one = replace(one, seeds=args.seeds)
    if not args.steps:
        return one
    if isinstance(one, Traced | Read):
        recipe = replace(one.settings.recipe, steps=args.steps)
        return replace(one, settings=replace(one.settings, recipe=recipe))
    return replace(one, recipe=replace(one.recipe, steps=args.steps))


def run(args: argparse.Namespace) -> None:
    """Train until all is done or time is up; rows are written after every learner."""
    args.out.mkdir(parents=True, exist_ok=True)
    shelf = Shelf(args.runs, device=args.device, report=Lines(sys.stdout))
    try:
        with deadline(args.seconds):
            train_all(learners(args), shelf, args.out)
    except KeyboardInterrupt:
        print("\ntime is up; the same command goes on from here", flush=True)
    else:
        print("everything is done", flush=True)


def train_all(wanted: list[Learner], shelf: Shelf, out: Path) -> None:
    """One learner after another; what is finished is on disk before the next begins."""
    rows: dict[str, list] = {}
    manifests: dict[str, object] = {}
    for one in wanted:
        began, kind = time.monotonic(), KINDS[type(one)]
        rows.setdefault(kind, []).extend(rows_of(one, shelf))
        manifests[name_of(one)] = folder_of(one, shelf).manifest()
        lines = "".join(json.dumps(row) + "\n" for row in rows[kind])
        write_text(out / f"{FILES[kind]}.jsonl", lines)
        write_text(out / "manifests.json", json.dumps(manifests) + "\n")
        took = time.monotonic() - began
        print(f"\n{describe(one)}: done, {took:.1f} s in this call", flush=True)


def rows_of(one: Learner, shelf: Shelf) -> list:
    match one:
        case Traced():
            return compiled_cells(one) + traced_cells(one, shelf)
        case Read():
            return read_cells(one, shelf)
        case ParityRun():
            return transformer_cells(one, shelf)
        case ScanRun():
            return translator_rows(one, shelf)


class deadline:  # noqa: N801
    """Ctrl-C, sent to ourselves when the seconds are over."""

    def __init__(self, seconds: float) -> None:
        self.timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))

    def __enter__(self) -> None:
        self.timer.daemon = True
        self.timer.start()

    def __exit__(self, *_: object) -> None:
        self.timer.cancel()


def check(args: argparse.Namespace) -> None:
    """A captured step is the plain one, and the device agrees with the CPU."""
    device = choose_device(args.device)
    for name, make in small_learners():
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
        print(f"{name:24} CPU against {device.type}: {worst:.1e} (relative); resumed: {same}")
        if not worst < 1e-2:
            raise SystemExit(f"{name}: the device's losses are not the CPU's")


def values(learner: StackedLearner) -> list[torch.Tensor]:
    return [tensor for key, tensor in learner.state().items() if key.startswith("weights.")]


def small_learners() -> Iterator[tuple[str, object]]:
    """Something of every kind, in float32."""
    for one in traced("smoke"):
        for optimiser in ("adam", "adafactor"):
            recipe = replace(one.settings.recipe, optimiser=optimiser, precision="float32")
            settings = replace(one.settings, hidden=64, recipe=recipe)
            yield f"{one.program} {optimiser}", trace_maker(replace(one, settings=settings))
    for one in end_to_end("smoke")[1::2]:
        yield f"parity {one.shape.positions}", lambda device, one=one: parity_learner(one, device)
    for one in translators("smoke")[:2]:
        yield f"scan {one.shape.layers}", lambda device, one=one: scan_learner(one, device)
    for one in readable("smoke")[:1]:
        yield "readable", lambda device, one=one: readable_learner(one, device)


def trace_maker(one: Traced):
    entry = entry_of(one)
    inputs = training_inputs(one, entry)
    taught = lessons(compile_program(entry.program), inputs, max_layers=entry.max_layers)
    seeds = range(one.seeds)
    return lambda device: trace_learner(taught, one.settings, seeds=seeds, device=device)


def readable_learner(one: Read, device: torch.device) -> StackedLearner:
    entry, settings = entry_of(one), one.settings
    inputs = training_inputs(one, entry)
    asked = readings(entry.program, inputs, max_layers=entry.max_layers).to(device)
    shape, seeds = shape_for(entry.program, settings, asked.layers), range(one.seeds)
    return StackedLearner(
        ReadingTask(shape, asked, settings.recipe.batch),
        random_transformers(shape, seeds),
        settings.recipe,
        team=Team.of(seeds),
        device=device,
    )


def bench(args: argparse.Namespace) -> None:
    """Steps a second of every learner asked for, and how long all of it would take."""
    args.out.mkdir(parents=True, exist_ok=True)
    device = choose_device(args.device)
    peak = peak_flops(device)
    print(f"bf16 product of 8192 x 8192: {peak / 1e12:.0f} TFLOP/s", flush=True)
    table, total = [], 0.0
    for one in learners(args):
        learner = learner_of(one, device)
        learner.advance(5)
        began, steps = time.monotonic(), 0
        while time.monotonic() - began < args.each:
            learner.advance(20)
            steps += 20
        pace = steps / (time.monotonic() - began)
        work = flops(one) * pace
        seconds = learner.recipe.steps / pace
        total += seconds
        row = {"steps_per_second": round(pace, 1), "seconds": round(seconds)}
        row |= {"tflops": round(work / 1e12, 1), "share_of_peak": round(work / peak, 4)}
        table.append({"learner": describe(one), **row})
        print(json.dumps(table[-1]), flush=True)
        del learner
        if device.type == "cuda":
            torch.cuda.empty_cache()
    print(f"all of it: {total:,.0f} s", flush=True)
    write_text(args.out / "learn-bench.json", json.dumps({"peak": peak, "rows": table}) + "\n")


def learner_of(one: Learner, device: torch.device) -> StackedLearner:
    match one:
        case Traced():
            few = replace(one, train=replace(one.train, per_count=min(50, one.train.per_count)))
            return trace_maker(few)(device)
        case Read():
            return readable_learner(one, device)
        case ParityRun():
            return parity_learner(one, device)
        case ScanRun():
            return scan_learner(one, device)


def flops(one: Learner) -> float:
    """Additions and multiplications of a step's products, forward and backward."""
    match one:
        case Traced():
            compiled = compile_program(entry_of(one).program).layout
            sizes = [compiled.width + compiled.features]
            sizes += [one.settings.hidden] * one.settings.hidden_layers + [compiled.width]
            products = sum(a * b for a, b in itertools.pairwise(sizes))
            return 6.0 * one.seeds * one.settings.recipe.batch * products
        case Read():
            entry, settings = entry_of(one), one.settings
            layers = entry.max_layers or one.train.longest
            shape = shape_for(entry.program, settings, layers)
            tokens = one.train.longest + 1
            products = stack_products(shape, tokens, tokens, 1)
            return 6.0 * one.seeds * settings.recipe.batch * products
        case ParityRun():
            tokens = one.train.longest + 1
            return 6.0 * one.seeds * one.recipe.batch * stack_products(one.shape, tokens, tokens, 1)
        case ScanRun():
            members, batch = len(one.splits) * one.seeds, one.recipe.batch
            encoder = stack_products(one.shape, 9, 9, 1)
            return 6.0 * members * batch * (encoder + stack_products(one.shape, 49, 49, 2))


def stack_products(shape: TransformerShape, tokens: int, keys: int, attentions: int) -> float:
    """Products of one sequence in one stack of layers."""
    inner = shape.heads * shape.head_width
    attention = 4 * shape.width * inner + 2 * keys * inner
    return float(shape.layers * tokens * (attentions * attention + 2 * shape.width * shape.hidden))


def peak_flops(device: torch.device) -> float:
    if device.type != "cuda":
        return float("inf")
    matrix = torch.randn(8192, 8192, device=device, dtype=torch.bfloat16)
    for _ in range(3):
        matrix @ matrix
    torch.cuda.synchronize()
    began = time.monotonic()
    for _ in range(10):
        matrix @ matrix
    torch.cuda.synchronize()
    return 10 * 2 * 8192**3 / (time.monotonic() - began)


def describe(one: Learner) -> str:
    match one:
        case Traced():
            return f"traces {one.program}"
        case Read():
            return f"readable {one.program}"
        case ParityRun() | ScanRun():
            sharing = "shared" if one.shape.shared else "own"
            return f"{KINDS[type(one)]} {one.shape.layers} {sharing} {one.shape.positions}"


def parse(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["check", "bench", "run"])
    parser.add_argument("--scale", default="paper")
    parser.add_argument("--only", nargs="+", default=list(FILES), choices=list(FILES))
    parser.add_argument("--layers", nargs="*", type=int, default=[], help="depths to be trained")
    parser.add_argument("--steps", type=int, default=0, help="in place of the scale's own")
    parser.add_argument("--seeds", type=int, default=0, help="in place of the scale's own")
    parser.add_argument("--seconds", type=float, default=560, help="then stop, and go on later")
    parser.add_argument("--each", type=float, default=3, help="seconds a learner is timed for")
    parser.add_argument("--out", type=Path, default=Path("learned"))
    parser.add_argument("--runs", default="runs", help="where trained models are kept")
    parser.add_argument("--device", default="auto")
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> None:
    args = parse(words)
    {"check": check, "bench": bench, "run": run}[args.what](args)


if __name__ == "__main__":
    main()
