"""Interpreter and compiled model: milliseconds per layer of one example, alone and in batches.

Inputs are random bit strings of 49 bits (50 tokens with START), so that the absolute program uses
its 50 positions. The last column is a ratio within this run.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
from typing import Any

import torch

import espalier as es
from benchmarks.harness import best_of, peak_memory_mb, report
from espalier import zoo

LENGTH = 49
CASES = {
    "parity-sequential-absolute": {"positions": 50},
    "parity-sequential-relative": {},
    "parity-sum-modulo": {"buckets": 100},
}


def measure(name: str, device: str) -> list[dict[str, Any]]:
    built = time.perf_counter()
    entry = zoo.load(name, **CASES[name])
    build_ms = 1e3 * (time.perf_counter() - built)
    compile_ms = 1e3 * best_of(5, lambda: es.compile_program(entry.program))
    model = es.compile_program(entry.program).to(device)
    rows = []
    for size in (1, 256):
        source = random.Random(0)
        bits = ["".join(source.choices("01", k=LENGTH)) for _ in range(size)]
        batch = [entry.encode(text) for text in bits]
        runs = es.interpret_many(entry.program, batch, max_layers=entry.max_layers)
        layers = sum(runs.layers)
        assert model.run_many(batch, max_layers=entry.max_layers) == runs
        symbols = best_of(
            5, lambda b=batch: es.interpret_many(entry.program, b, max_layers=entry.max_layers)
        )
        weights = best_of(5, lambda b=batch: model.run_many(b, max_layers=entry.max_layers))
        rows.append(
            {
                "program": name,
                "device": device,
                "batch": size,
                "rules": len(entry.program.rules),
                "width": model.layout.width,
                "layers": layers / size,
                "build ms": build_ms,
                "compile ms": compile_ms,
                "interpreter ms/example": 1e3 * symbols / size,
                "compiled ms/example": 1e3 * weights / size,
                "interpreter ms/layer": 1e3 * symbols / layers,
                "compiled ms/layer": 1e3 * weights / layers,
                "compiled / interpreter": weights / symbols,
            }
        )
    return rows


def peak_memory_of(name: str) -> float:
    """Peak memory in MB of a process that compiles `name` and runs a batch of 256."""
    command = [sys.executable, "-m", "benchmarks.programs", "--memory", name]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def run_for_memory(name: str) -> None:
    entry = zoo.load(name, **CASES[name])
    batch = [entry.encode("10" * (LENGTH // 2))] * 256
    es.compile_program(entry.program).run_many(batch, max_layers=entry.max_layers)
    print(peak_memory_mb())


def main() -> None:
    devices = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    rows = []
    for name in CASES:
        memory = peak_memory_of(name)
        for device in devices:
            rows += [{**row, "peak MB": memory} for row in measure(name, device)]
    report("programs", rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--memory")
    chosen = parser.parse_args().memory
    if chosen:
        run_for_memory(chosen)
    else:
        main()
