"""How many answers of a program are right, on symbols and by its weights.

python benchmarks/answers.py NAME [COUNT [SIZE [DEVICE]]]     (by default 2000 50 cpu)

Random inputs of the program's own, seed 0; no value inside is compared, which `espalier verify`
does.
"""

from __future__ import annotations

import sys
import time

import espalier as es
from espalier import zoo
from espalier.programs import ask


def main(name: str, count: int = 2000, size: int = 50, device: str = "cpu") -> None:
    entry = zoo.load(name)
    inputs = entry.samples(int(count), size=int(size))
    assert entry.expected is not None
    wanted = [entry.expected(given) for given in inputs]
    wrong = 0
    for machine, model in {
        "symbols": None,
        f"weights on {device}": es.compile_program(entry.program).to(device),
    }.items():
        began = time.perf_counter()
        answers = ask(entry, inputs, model=model)
        took = time.perf_counter() - began
        right = sum(a.value == want for a, want in zip(answers, wanted, strict=True))
        wrong += len(wanted) - right
        layers = max(max(answer.layers) for answer in answers)
        print(f"{name}, {machine}: {right:,} of {len(wanted):,} right, in {took:.1f} s; ", end="")
        print(f"{sum(len(a.outputs) for a in answers):,} outputs, at most {layers} layers")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
