"""SCAN through both machines: microseconds a layer of one example, and what all 20,910 would cost.

A random 1,024 of the examples that the grammar makes, seed 0, in one process with one thread, and
the same by every core. The last column is a ratio within this run.

    python -m benchmarks scan
    ESPALIER_DATA=... python -m benchmarks.scan --splits                   full and minimal versions
    ESPALIER_DATA=... python -m benchmarks.scan --whole cuda --out DIR     every example of the file

The last form needs nothing but torch, numpy, safetensors and jaxtyping beside pandas.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import time
from pathlib import Path
from typing import Any

import torch

import espalier as es
from benchmarks.harness import RESULTS, machine, report
from espalier import zoo
from espalier.data import generate_examples, scan_split
from espalier.files import write_text
from espalier.programs import Case, Compiled, Engine, Interpreter, evaluate

SIZE = 1024
WHOLE = 20_910


def main() -> None:
    entry = zoo.load("scan")
    chosen = random.Random(0).sample(list(generate_examples()), SIZE)
    cases = [Case(example.command, example.actions, example.length) for example in chosen]
    cores = os.cpu_count() or 1
    engines: list[Engine] = [Interpreter(1), Compiled(1), Interpreter(cores), Compiled(cores)]
    if torch.cuda.is_available():
        engines.append(Compiled(device="cuda"))
    rows = [_measure(entry, cases, engine) for engine in engines]
    alone = rows[0]["us/layer"]
    report("scan", [{**row, "times interpreter": row["us/layer"] / alone} for row in rows])


def _measure(entry: zoo.Entry, cases: list[Case], engine: Engine) -> dict[str, Any]:
    evaluate(entry, cases[:64], engine=engine)  # processes start and weights are compiled
    began = time.perf_counter()
    result = evaluate(entry, cases, engine=engine)
    seconds = time.perf_counter() - began
    layers = sum(row["layers"] for row in result.rows)
    model = es.compile_program(entry.program)
    return {
        "engine": type(engine).__name__.lower(),
        "device": engine.device if isinstance(engine, Compiled) else "cpu",
        "processes": engine.workers or 1,
        "rules": len(entry.program.rules),
        "heads": len(entry.program.heads),
        "width": model.layout.width,
        "right": result.accuracy,
        "layers": layers / len(cases),
        "us/layer": 1e6 * seconds / layers,
        f"s for {WHOLE:,}": seconds * WHOLE / len(cases),
        "peak MB": result.peak_bytes / 2**20,
    }


def splits() -> None:
    """The full program and the minimal version of each training set, on each test set."""
    entry = zoo.load("scan")
    rows = []
    for name in ("length", "mcd1", "mcd2", "mcd3"):
        split = scan_split(name)
        cases = [Case(e.command, e.actions, e.length) for e in split.test]
        small = es.minimal(entry.program, [entry.encode(e.command) for e in split.train])
        for version, program in (("full", entry.program), ("minimal", small)):
            model = es.compile_program(program)
            for engine in (Interpreter(), Compiled()):
                result = evaluate(entry, cases, engine=engine, program=program)
                rows.append(
                    {
                        "split": name,
                        "train": len(split.train),
                        "test": len(cases),
                        "version": version,
                        "rules": len(program.rules),
                        "resets": len(program.rules.resets),
                        "heads": len(program.heads),
                        "width": model.layout.width,
                        "engine": type(engine).__name__.lower(),
                        "right": result.accuracy,
                        "most layers": result.layers,
                        "seconds": result.seconds,
                    }
                )
    report("scan-splits", rows)


def whole(device: str, out: Path) -> None:
    """Every example of the file, against the actions in the file."""
    entry = zoo.load("scan")
    cases = [Case(e.command, e.actions, e.length) for e in scan_split("all").test]
    evaluate(entry, cases[:64], engine=Compiled(device=device))
    result = evaluate(entry, cases, engine=Compiled(device=device))
    found = {
        **machine(),
        "device": device,
        "examples": len(cases),
        "right": sum(row["right"] for row in result.rows),
        "layers": sum(row["layers"] for row in result.rows),
        "most_layers": result.layers,
        "seconds": result.seconds,
        "peak_gib": result.peak_bytes / 2**30,
    }
    print(json.dumps(found, indent=1))
    write_text(out / f"scan-{device}.json", json.dumps(found, indent=1))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--whole", metavar="DEVICE")
    parser.add_argument("--splits", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    if chosen.whole:
        whole(chosen.whole, chosen.out)
    elif chosen.splits:
        splits()
    else:
        main()
