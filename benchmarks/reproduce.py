"""The synthetic experiments on one CUDA device: rows and manifests only, small enough to carry.

    python benchmarks/reproduce.py --scale paper --out DIR [--names NAME ...]

Needs torch, numpy, safetensors and jaxtyping only; where pandas is there, tables are printed too.
Every figure's rows are written, one JSON object a line, as soon as they are computed. Ensembles are
kept in --runs: the same command goes on after an interruption. `python -m benchmarks.results
composition` makes Parquet, tables and pictures of what this writes.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import sys
import time
from pathlib import Path

from espalier.experiments import load
from espalier.experiments.models import models_in
from espalier.experiments.reproduction import asked_for, data_read, describe
from espalier.experiments.shelf import Shelf
from espalier.files import write_text
from espalier.runs import Lines

# The earlier paper's figures are drawn from the same rows, and the claims decided by them.
NAMES = tuple(f"bottom-up-figure-{number}" for number in (7, 12, 8, 10, 9, 11))
CLAIMED = {number: f"bottom-up-figure-{number}" for number in (7, 8, 10, 12)}


def main() -> None:
    args = parse()
    args.out.mkdir(parents=True, exist_ok=True)
    shelf = Shelf(args.runs, device=args.device, progress=Lines(sys.stdout))
    ensembles: dict[str, object] = {}
    manifests: dict[str, object] = {"ensembles": ensembles}
    found: dict[str, list] = {}
    for name in args.names:
        began, config = time.monotonic(), load(name).config(args.scale)
        manifest = describe(asked_for(name, args.scale, config), config, shelf)
        module = importlib.import_module(f"espalier.experiments.{name.replace('-', '_')}")
        found[name] = module.measure(config, shelf)
        lines = "".join(json.dumps(row) + "\n" for row in found[name])
        write_text(args.out / f"{name}.jsonl", lines)
        seconds = round(time.monotonic() - began, 1)
        manifest |= {"data": data_read(config, shelf), "seconds": seconds, "status": "finished"}
        manifests[name] = manifest
        for models in models_in(config):
            ensembles[models.name] = shelf.trained(models).manifest
        write_text(args.out / f"manifests-{args.names[0]}.json", json.dumps(manifests) + "\n")
        print(f"\n{name}: {len(found[name]):,} rows, {seconds} s", flush=True)
        if importlib.util.find_spec("pandas"):
            show(found, name, args.scale)


def show(found: dict[str, list], name: str, scale: str) -> None:
    """A figure's table; and the claims, once the last figure that decides them is there."""
    import pandas as pd

    print(load(name).tabulate(pd.DataFrame(found[name])).to_string(index=False), flush=True)
    if name in CLAIMED.values() and found.keys() >= set(CLAIMED.values()):
        claims = importlib.import_module("espalier.experiments.scaffold_claims")
        chance = 1 / load(name).config(scale).models.corpus.vocabulary_size
        rows = {number: pd.DataFrame(found[other]) for number, other in CLAIMED.items()}
        decided = claims.tabulate(claims.decide(rows, chance=chance))
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
