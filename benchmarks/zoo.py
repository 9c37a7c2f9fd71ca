"""What every program of the zoo costs, and how SUBLEQ grows with its range.

python -m benchmarks.zoo        prints both tables; times are CPU seconds of this process
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import espalier as es
from espalier import zoo

Result = TypeVar("Result")


def main() -> None:
    print("| program | variables | heads | rules | resets | width | build s | compile s |")
    print("|---|---|---|---|---|---|---|---|")
    es.compile_program(zoo.load("parity-sum-modulo").program)  # imports
    for name in zoo.names():
        print(f"| {name} | {costs(lambda name=name: zoo.load(name))}")
    print("\n| range | cells | variables | heads | rules | resets | width | build s | compile s |")
    print("|---|---|---|---|---|---|---|---|---|")
    for cells in (8, 16, 32, 64):
        sizes = {"lowest": -cells, "highest": cells - 1, "memory": cells}
        row = costs(lambda sizes=sizes: zoo.load("subleq", **sizes))
        print(f"| {-cells}..{cells - 1} | {cells} | {row}")


def costs(build: Callable[[], zoo.Entry]) -> str:
    entry, building = timed(build)
    program = entry.program
    model, compiling = timed(lambda: es.compile_program(program))
    sizes = (len(program.variables), len(program.heads), len(program.rules))
    shown = [*sizes, len(program.rules.resets), model.layout.width]
    return " | ".join([*(f"{n:,}" for n in shown), f"{building:.2f}", f"{compiling:.2f}"]) + " |"


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    began = time.process_time()
    return work(), time.process_time() - began


if __name__ == "__main__":
    main()
