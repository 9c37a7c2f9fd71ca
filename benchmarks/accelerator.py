"""Paper-scale training on one CUDA device: check, time, train, and pack what is to be taken away.

    python benchmarks/accelerator.py check                   correctness on this device
    python benchmarks/accelerator.py bench --out DIR         the ensemble against processes
    python benchmarks/accelerator.py scaffold --out DIR      4 lengths x 2 settings x 5 seeds
    python benchmarks/accelerator.py text --out DIR          WikiText-2, 400 units, annealed
    python benchmarks/accelerator.py pairs --out DIR         DI of every pair of a treebank

Needs torch, numpy, safetensors and jaxtyping only. Ctrl-C (or `timeout -s INT`) stops a run at
its next step and packs what there is. Files written to --out are at most 15 MiB each.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save

from espalier.data.batches import fold
from espalier.data.scaffold import ScaffoldConfig
from espalier.data.text import text_corpus
from espalier.nets.lstm import (
    fused_cell_works,
    language_model,
    load_language_model,
    members,
    read_tensors,
)
from espalier.runs import Interrupted, Lines, Plan, RunFolder, choose_device, matmul_precision
from espalier.training.alone import Alone
from espalier.training.ensembles import Ensemble, Member
from espalier.training.kept import keep_run
from espalier.training.measures import TextLoss
from espalier.training.recipe import Recipe
from espalier.training.scaffold import Network, ScaffoldRun, ensemble

PART = 15 << 20
STEPS_PER_EPOCH = 1_428  # 1M tokens in 20 rows, windows of 35


def paper_runs(seeds: int, *, epochs: int, small: bool, gradients: bool) -> list[ScaffoldRun]:
    sizes = (
        {"tokens": 30_000, "vocabulary": 60, "rules": 300, "scaffolds": 30, "copies": 60}
        if small
        else {}
    )
    return [
        ScaffoldRun(
            ScaffoldConfig(length=k, setting=setting, seed=seed, **sizes),
            Network(hidden=32 if small else 200),
            Recipe(epochs=epochs),
            gradients=gradients,
        )
        for seed in range(seeds)
        for k in (2, 4, 6, 8)
        for setting in ("unfamiliar", "familiar")
    ]


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

    def alone(seed: int) -> Alone:
        return Alone(model(seed), streams[seed], recipe, **given)

    return Ensemble(team, streams, recipe, **given), alone


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


def scaffold(args: argparse.Namespace, out: Path) -> None:
    """The papers' 40 models as one ensemble; metrics of all, weights of a few."""
    runs = paper_runs(args.seeds, epochs=args.epochs, small=args.small, gradients=args.gradients)
    folder = Path(args.work) / "scaffold"
    began = time.monotonic()
    try:
        ensemble(runs, out=folder, device=args.device, progress=Lines(sys.stdout))
    except Interrupted as error:
        print(error)
    print(f"trained for {time.monotonic() - began:.1f} s", flush=True)
    copy_tables(folder, out, "scaffold")
    kept = [run.corpus.name for run in runs if run.corpus.seed in args.keep_seeds]
    for epoch in args.keep_epochs:
        file = folder / f"epoch-{epoch}.safetensors"
        if file.exists():
            pack(file, out / f"scaffold-epoch-{epoch}.safetensors", kept)


def text(args: argparse.Namespace, out: Path) -> None:
    """WikiText-2 with several rates of dropout as one ensemble; curves, and the best in float16."""
    device, corpus = choose_device(args.device), text_corpus(args.corpus)
    recipe = Recipe(learning_rate=args.rate, anneal=4.0, batch=args.batch, window=args.window)
    if args.seconds:
        probe = text_ensemble(args, corpus, recipe, device)
        ms = timed(probe, 50 if device.type == "cuda" else 2)
        epochs = max(3, int(args.seconds * 0.95e3 / (ms * probe.steps_per_epoch * 1.05)))
        print(f"{ms:.3f} ms a step of {probe.steps_per_epoch}: {epochs} epochs", flush=True)
        del probe
    else:
        epochs = args.epochs
    recipe = replace(recipe, epochs=epochs, settle=epochs // 3)
    learner = text_ensemble(args, corpus, recipe, device)
    config = {"recipe": recipe.to_dict(), "network": learner.shape.to_dict()}
    config |= {"dropout": args.dropouts, "data": args.corpus}
    about = ("text", config, {"sha256": corpus.digest, "words": len(corpus.words)})
    folder = RunFolder.create(Path(args.work) / args.name)
    plan = Plan(epochs, save_seconds=600)
    try:
        keep_run(learner, plan, folder=folder, about=about, progress=Members(sys.stdout))
    except Interrupted as error:
        print(error)
    rows = copy_tables(folder.path, out, args.name)
    for name in learner.tracked.names:
        own = [row for row in rows if row["member"] == name]
        print("best of", name, json.dumps(min(own, key=lambda row: row["valid_loss"])), flush=True)
    best = min(rows, key=lambda row: row["valid_loss"])
    file = folder.path / f"epoch-{round(best['epoch'])}.safetensors"
    found = test_loss(file, best["member"], corpus, device)
    print("test of the best", json.dumps(found), flush=True)
    (out / f"{args.name}.test.json").write_text(json.dumps(best | found))
    pack(file, out / f"{args.name}.safetensors", [best["member"]])


def text_ensemble(args, corpus, recipe: Recipe, device: torch.device) -> Ensemble:
    team = []
    for rate in args.dropouts:
        model = language_model(
            vocabulary_size=len(corpus.words), hidden=args.hidden, tied=args.tied, dropout=rate,
            words=corpus.words,
        )  # fmt: skip
        team.append(Member(f"dropout-{rate:g}", model))
    stream = torch.from_numpy(fold(corpus.train, batch=recipe.batch, window=recipe.window))
    streams = stream.expand(len(team), -1, -1).contiguous()
    tests = TextLoss.of(corpus.valid, device)
    return Ensemble(team, streams, recipe, measure=tests, device=device)


class Members(Lines):
    """Lines that give every member's validation perplexity."""

    def __call__(self, moment) -> None:
        if moment.rows:
            each = "  ".join(f"{r['member']} {r['valid_perplexity']:.2f}" for r in moment.rows)
            rate = max(r["learning_rate"] for r in moment.rows)
            epoch = moment.step / moment.steps_per_epoch
            print(f"epoch {epoch:.0f}  {moment.seconds:.0f} s  rate {rate:.3g}  {each}", flush=True)


def test_loss(file: Path, member: str, corpus, device: torch.device) -> dict[str, float]:
    model = load_language_model(file, member=member)
    weights = {name: tensor.to(device) for name, tensor in members.stack([model]).items()}
    with matmul_precision("tf32"):
        return TextLoss.of(corpus.test, device, name="test")(weights, model.shape)[0]


def copy_tables(folder: Path, out: Path, name: str) -> list[dict]:
    """Manifest and metrics, as they are; lines where there is no pyarrow."""
    run = RunFolder(folder)
    for table in run.tables():
        lines = "".join(json.dumps(row) + "\n" for row in run.rows(table))
        (out / f"{name}.{table}.jsonl").write_text(lines)
    (out / f"{name}.manifest.json").write_text(json.dumps(run.manifest()))
    return run.rows()


def pack(file: Path, target: Path, chosen: list[str]) -> None:
    """Some members of a checkpoint in float16; in parts of 15 MiB where that is larger."""
    tensors, metadata = read_tensors(file)
    metadata.pop("dropout", None)
    names = json.loads(metadata["members"])
    index = torch.tensor([names.index(name) for name in chosen])
    metadata["members"] = json.dumps(chosen)
    halves = {name: tensor[index].half().contiguous() for name, tensor in tensors.items()}
    written = save(halves, metadata)
    if len(written) <= PART:
        target.write_bytes(written)
        return
    for number, at in enumerate(range(0, len(written), PART)):
        Path(f"{target}.part-{number}").write_bytes(written[at : at + PART])


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["check", "bench", "worker", "scaffold", "text", "pairs"])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--work", default="runs", help="where whole runs are kept")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--start", type=float, default=0.0)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--gradients", action="store_true", help="Appendix C, at every epoch")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--keep-seeds", type=int, nargs="*", default=[0])
    parser.add_argument("--keep-epochs", type=int, nargs="*", default=[3, 10, 25, 50])
    parser.add_argument("--corpus", default="wikitext-2")
    parser.add_argument("--name", default="wikitext")
    parser.add_argument("--hidden", type=int, default=400)
    parser.add_argument("--rate", type=float, default=20.0)
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--window", type=int, default=35)
    parser.add_argument("--dropouts", type=float, nargs="*", default=[0.0, 0.3, 0.5])
    parser.add_argument("--seconds", type=float, help="as many epochs as fit")
    parser.add_argument("--tied", action="store_true")
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
        case "scaffold":
            scaffold(args, args.out)
        case "text":
            text(args, args.out)
        case "pairs":
            sys.path.insert(0, str(Path(__file__).parent.parent))
            from benchmarks.pairs_on_device import pairs

            pairs(device, args.out, hidden=args.hidden)


if __name__ == "__main__":
    main()
