"""Layers as kernels against layers one by one: `python -m benchmarks.layers [--layers 16]`.

The same Transformers with relative positions, trained on CUDA in turns. Narrow ones on SCAN, with
shared weights: one by one, batches laid out with little padding, and as kernels, in rows that
kernels take. Wide ones on parity (`--parity 8`), five seeds: one by one, a string to a row, and as
kernels, strings end to end. Steps a second, and errors of first logits and gradients against
float32 with the same weights: the largest as a share of the largest number, and the norm of all as
a share of the norm. Needs torch alone, as `benchmarks.learn` does; `--out DIR` writes layers.json.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.attention import share
from benchmarks.harness import machine
from benchmarks.learning import describe, learner_of
from espalier.experiments import translators
from espalier.experiments.fitted_models import end_to_end_until_fitted
from espalier.files import write_text
from espalier.nets import Dice
from espalier.nets.transformer import cast, model
from espalier.nets.transformer.layer_stack import is_narrow
from espalier.runs import matmul_precision
from espalier.training import ParityRun, ScanRun, TaskLearner, TranslationTask
from espalier.training.parity import ParityTask
from espalier.training.scan_batches import PAD, Packing
from espalier.training.task_learner import products

WAYS = ("one by one", "kernels")
TURNS, WARM_UP, AT_ONCE = 2, 20, 20  # steps


@contextmanager
def run_by(way: str) -> Iterator[None]:
    """A block in which layers are run this way."""
    before, model.LAYERS = model.LAYERS, way
    try:
        yield
    finally:
        model.LAYERS = before


def learner_by(way: str, run: ScanRun | ParityRun, device: torch.device) -> TaskLearner:
    """The models at their first step, with batches laid out as suits the way."""
    learner = learner_of(run, device)
    if way == "one by one" and isinstance(run, ScanRun):
        packing = with_little_padding(learner.task.packing).to(device)
        learner.task = replace(learner.task, packing=packing)
    return learner


def with_little_padding(packing: Packing) -> Packing:
    """The same sequences in rows as long as the longest."""
    return Packing.of(torch.bincount(packing.sequences[packing.filled]).tolist())


def paces(learners: dict[str, TaskLearner], seconds: float) -> dict[str, float]:
    """Steps a second, the best of each way's turns; a way is recorded in its first."""
    best = dict.fromkeys(learners, 0.0)
    for _ in range(TURNS):
        for way, learner in learners.items():
            with run_by(way):
                learner.advance(WARM_UP)
                began, steps = time.monotonic(), 0
                while time.monotonic() - began < seconds:
                    learner.advance(AT_ONCE)
                    steps += AT_ONCE
            best[way] = max(best[way], steps / (time.monotonic() - began))
    return best


def logits_and_gradients(
    task: TranslationTask | ParityTask, weights: dict[str, Tensor], dice: Dice
) -> dict[str, Tensor]:
    """Logits of the examples drawn, one after the other, and gradients of the loss by name."""
    known = {name: tensor.detach().requires_grad_() for name, tensor in weights.items()}
    if isinstance(task, ParityTask):
        logits = task.read(known, dice)[0]
    else:
        cells = task.read(known, task.drawn(dice))
        logits, actions = (in_order(task.packing, one) for one in cells)
        logits = logits[actions != PAD]
    gradients = torch.autograd.grad(task.losses(known, dice).sum(), list(known.values()))
    found = {"logits": logits, **dict(zip(known, gradients, strict=True))}
    return {name: tensor.detach().double().cpu() for name, tensor in found.items()}


def in_order(packing: Packing, cells: Tensor) -> Tensor:
    """What every place of every sequence has, in their order, whatever rows they lie in."""
    numbers = packing.sequences * packing.parts.shape[1] + packing.places
    return cells[:, packing.filled][:, numbers[packing.filled].argsort()]


def errors(learners: dict[str, TaskLearner]) -> dict[str, dict[str, float]]:
    """Each way's errors against float32, with the weights that it has."""
    found = {}
    for way, learner in learners.items():
        task, dice = learner.task, Dice(learner.seeds, torch.zeros_like(learner.taken))
        seen = task.seen(learner.weights)
        with run_by(way), products(learner.recipe, learner.device):
            told = logits_and_gradients(task, seen, dice)
        with run_by("one by one"), matmul_precision("float32"):
            wanted = logits_and_gradients(task, cast(seen, torch.float32), dice)
        pairs = [(told[name], right) for name, right in wanted.items()]
        found[way] = {"logits": share(*pairs[0]), "logits_norm": norm_share(pairs[:1])}
        found[way] |= {"gradients": max(share(*pair) for pair in pairs[1:])}
        found[way] |= {"gradients_norm": norm_share(pairs[1:])}
    return found


def norm_share(pairs: Sequence[tuple[Tensor, Tensor]]) -> float:
    """The norm of all differences over the norm of all that is right."""
    off = sum(float((found - right).square().sum()) for found, right in pairs)
    return (off / sum(float(right.square().sum()) for _, right in pairs)) ** 0.5


def rows(run: ScanRun | ParityRun, seconds: float, device: torch.device) -> list[dict[str, object]]:
    """A row for each way of one kind of Transformer."""
    learners = {way: learner_by(way, run, device) for way in WAYS}
    wrong, pace = errors(learners), paces(learners, seconds)  # first weights, before steps
    return [
        {"learner": describe(run), "members": len(learner.members), "way": way}
        | dict(zip(("rows", "cells"), laid_out(way, learner), strict=True))
        | {"steps_per_second": round(pace[way], 2)}
        | {"times_as_fast": round(pace[way] / pace["one by one"], 3)}
        | {f"error_{name}": error for name, error in wrong[way].items()}
        for way, learner in learners.items()
    ]


def laid_out(way: str, learner: TaskLearner) -> tuple[int, int]:
    """Rows of a member's batch, and cells of a row; end to end, of the least steps."""
    task = learner.task
    if isinstance(task, ParityTask):
        with run_by(way):
            least = min(task.capacities(learner.seeds, range(WARM_UP)))
        whole = (task.recipe.batch, task.tokens.shape[1])
        return (1, least) if least < whole[0] * whole[1] else whole
    return task.packing.parts.shape


def lines(table: Sequence[dict[str, object]]) -> list[str]:
    """The table for people."""
    cells = [list(table[0]), *([shown(value) for value in row.values()] for row in table)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in cells
    ]


def shown(value: object) -> str:
    small = isinstance(value, float) and abs(value) < 0.1
    return f"{value:.1e}" if small else str(value)


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", nargs="*", type=int, default=[16], help="on SCAN")
    parser.add_argument("--parity", nargs="*", type=int, default=[], help="layers, on parity")
    parser.add_argument("--seeds", type=int, default=1, help="members of each of four splits")
    parser.add_argument("--each", type=float, default=2, help="seconds a way and turn")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args(words)
    base = next(one for one in translators("paper") if "shared relative" in describe(one))
    device = torch.device("cuda")
    if not torch.cuda.is_available() or not is_narrow(base.shape, torch.bfloat16, device):
        needed = "Triton from 3.4 on and a CUDA device of capability 9.0 or more"
        raise SystemExit(f"this needs {needed}")
    table: list[dict[str, object]] = []
    runs: list[ScanRun | ParityRun] = [
        replace(base, shape=replace(base.shape, layers=layers), seeds=args.seeds)
        for layers in args.layers
    ]
    runs += [
        run
        for run in end_to_end_until_fitted("paper")
        if run.shape.layers in args.parity and run.shape.positions == "relative"
    ]
    for run in runs:
        table += rows(run, args.each, device)
        print("\n".join(lines(table[-len(WAYS) :])), flush=True)
        if args.out is not None:
            args.out.mkdir(parents=True, exist_ok=True)
            found = {"machine": machine(), "rows": table}
            write_text(args.out / "layers.json", json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
