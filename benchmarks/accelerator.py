"""Ensembles of LSTMs on one CUDA device: checked, and timed against processes side by side.

    python benchmarks/accelerator.py check                   correctness on this device
    python benchmarks/accelerator.py bench --out DIR         the ensemble against processes
    python benchmarks/accelerator.py pairs --out DIR         DI of every pair of a treebank

Needs torch, numpy, safetensors and jaxtyping only. Training itself is `espalier reproduce`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import torch

from espalier.nets.lstm import fused_cell_works, language_model
from espalier.runs import choose_device
from espalier.training import EnsembleLearner, Member, Recipe, SingleLearner, TextLoss

PART = 15 << 20
STEPS_PER_EPOCH = 1_428  # 1M tokens in 20 rows, windows of 35


def random_learners(count: int, recipe: Recipe, device: torch.device, *, steps: int, hidden: int):
    """The same random members as one ensemble and as learners alone; enough data for `steps`."""
    rng = np.random.default_rng(0)
    size = (count, steps * recipe.window + 1, recipe.batch)
    streams = torch.from_numpy(rng.integers(1002, size=size).astype(np.int32))
    tests = TextLoss.of(rng.integers(1002, size=2_000).astype(np.int32), device)
    given = {"measure": tests, "device": device}

    def model(seed: int):
        return language_model(vocabulary_size=1002, hidden=hidden, seed=seed)

    team = [Member(f"m{seed}", model(seed), seed) for seed in range(count)]

    def alone(seed: int) -> SingleLearner:
        return SingleLearner(model(seed), streams[seed], recipe, **given)

    return EnsembleLearner(team, streams, recipe, **given), alone


def check(device: torch.device) -> dict[str, object]:
    """Ensemble against each model alone, in float32 and TF32, on this device."""
    found: dict[str, object] = {"device": str(device), "torch": torch.__version__}
    if device.type == "cuda":
        found |= {"name": torch.cuda.get_device_name(), "fused_cell": fused_cell_works()}
    for precision in ("float32", "tf32"):
        recipe = Recipe(precision=precision)
        together, alone = random_learners(3, recipe, device, steps=40, hidden=200)
        together.advance(40)
        rows = together.measure()
        for e in (0, 2):
            single = alone(e)
            single.advance(40)
            loss = abs(single.measure()[0]["train_loss"] - rows[e]["train_loss"])
            moved = max(
                float((p - together.weights[n][e]).detach().abs().max())
                for n, p in single.model.named_parameters()
            )
            found[f"{precision}_member_{e}"] = {"loss_difference": loss, "weight_difference": moved}
    print(json.dumps(found, indent=1), flush=True)
    return found


def timed(learner, steps: int) -> float:
    """Milliseconds a step after a warm-up."""
    learner.advance(5)
    began = time.perf_counter()
    learner.advance(steps)
    return (time.perf_counter() - began) / steps * 1e3


def bench(device: torch.device, out: Path | None, *, steps: int) -> None:
    """Model-epochs a second: ensembles, one model, and eight processes side by side."""
    rows = []
    for precision in ("tf32", "float32"):
        recipe = Recipe(precision=precision)
        for count in (1, 8, 40, 64):
            if device.type == "cuda":
                torch.cuda.empty_cache()
                torch.cuda.reset_peak_memory_stats()
            learner, _ = random_learners(count, recipe, device, steps=steps + 5, hidden=200)
            rows.append(_row("ensemble", precision, count, timed(learner, steps), device))
            del learner
    _, alone = random_learners(1, Recipe(), device, steps=STEPS_PER_EPOCH, hidden=200)
    rows.append(_row("alone", "tf32", 1, timed(alone(0), steps), device))
    rows.append(_row("8 processes", "tf32", 8, side_by_side(8, device, 5 * steps), device))
    base = rows[-1]["model_epochs_per_second"]
    for row in rows:
        row["against_processes"] = row["model_epochs_per_second"] / base
        print(
            "  ".join(
                f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()
            )
        )
    if out is not None:
        (out / "bench.json").write_text(json.dumps(rows, indent=1))


def _row(what: str, precision: str, models: int, ms: float, device: torch.device) -> dict:
    peak = torch.cuda.max_memory_allocated() / 2**30 if device.type == "cuda" else 0.0
    row = {"what": what, "precision": precision, "models": models, "ms_per_step": ms}
    row |= {"peak_gib": peak, "model_epochs_per_second": models * 1e3 / ms / STEPS_PER_EPOCH}
    print(row, flush=True)
    return row


def side_by_side(count: int, device: torch.device, steps: int) -> float:
    """Milliseconds a step of each of `count` processes that train one model each, together."""
    start = time.time() + 25  # long enough for all to be ready: they must overlap
    command = [sys.executable, __file__, "worker", "--device", str(device)]
    command += ["--steps", str(steps), "--start", str(start)]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(count)]
    times = [float(worker.communicate()[0].split()[-1]) for worker in workers]
    return sum(times) / len(times)


def worker(device: torch.device, *, steps: int, start: float) -> None:
    _, alone = random_learners(1, Recipe(), device, steps=STEPS_PER_EPOCH, hidden=200)
    learner = alone(0)
    learner.advance(20)
    time.sleep(max(0.0, start - time.time()))
    print(timed(learner, steps))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["check", "bench", "worker", "pairs"])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--start", type=float, default=0.0)
    parser.add_argument("--hidden", type=int, default=400)
    return parser.parse_args()


def main() -> None:
    args = parse()
    device = choose_device(args.device)
    if args.out is not None:
        args.out.mkdir(parents=True, exist_ok=True)
    match args.what:
        case "check":
            check(device)
        case "bench":
            bench(device, args.out, steps=args.steps)
        case "worker":
            worker(device, steps=args.steps, start=args.start)
        case "pairs":
            sys.path.insert(0, str(Path(__file__).parent.parent))
            from benchmarks.pairs_on_device import pairs

            pairs(device, args.out, hidden=args.hidden)


if __name__ == "__main__":
    main()
