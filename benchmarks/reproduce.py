"""The synthetic experiments on one CUDA device: rows and manifests only, small enough to carry.

    python benchmarks/reproduce.py --scale paper --out DIR [--names NAME ...]

Needs torch, numpy, pandas, safetensors and jaxtyping, but neither cyclopts nor rich; Parquet where
pyarrow is there, else CSV. Every figure's rows are written as soon as they are computed. Ensembles
are kept in --runs: the same command goes on after an interruption. `python -m benchmarks.results
composition` makes tables and pictures of what this writes.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
from pathlib import Path

import pandas as pd

from espalier import experiments
from espalier.experiments import scaffold_claims
from espalier.experiments.reproduction import asked_for, data_read, describe
from espalier.experiments.shelf import Shelf
from espalier.storage import write_frame, write_text
from espalier.training.progress import Lines

# The earlier paper's figures are drawn from the same rows, the claims decided by them.
NAMES = tuple(f"bottom-up-figure-{number}" for number in (7, 12, 8, 10, 9, 11))
CLAIMED = {int(name.rpartition("-")[2]): name for name in NAMES if name[-2:] not in ("-9", "11")}


def main() -> None:
    args = parse()
    args.out.mkdir(parents=True, exist_ok=True)
    shelf = Shelf(args.runs, device=args.device, report=Lines(sys.stdout))
    suffix = "parquet" if importlib.util.find_spec("pyarrow") else "csv"
    manifests: dict[str, object] = {}
    tables: dict[str, pd.DataFrame] = {}
    for name in args.names:
        began, experiment = time.monotonic(), experiments.load(name)
        config = experiment.config(args.scale)
        manifest = describe(asked_for(name, args.scale, config), shelf)
        tables[name] = shelf.rows(experiment.run, config)
        write_frame(args.out / f"{name}.{suffix}", tables[name])
        seconds = round(time.monotonic() - began, 1)
        manifest |= {"data": data_read(shelf), "seconds": seconds, "status": "finished"}
        manifests |= {name: manifest, "ensembles": shelf.manifests()}
        write_text(args.out / f"manifests-{args.names[0]}.json", json.dumps(manifests) + "\n")
        print(f"\n{name}: {len(tables[name]):,} rows, {seconds} s", flush=True)
        print(experiment.tabulate(tables[name]).to_string(index=False), flush=True)
    if tables.keys() >= set(CLAIMED.values()):
        show_claims(tables, args.scale)


def show_claims(tables: dict[str, pd.DataFrame], scale: str) -> None:
    config = experiments.load("scaffold-claims").config(scale)
    chance = 1 / config.figure_8.models.corpus.vocabulary_size
    rows = {number: tables[name] for number, name in CLAIMED.items()}
    decided = scaffold_claims.tabulate(scaffold_claims.decide(rows, chance=chance))
    print("\nscaffold-claims\n" + decided.to_string(index=False), flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", default="paper")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--runs", default="runs", help="where ensembles are kept")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--names", nargs="*", default=list(NAMES))
    return parser.parse_args()


if __name__ == "__main__":
    main()
