"""The zoo's programs on one device: outputs against the interpreter, and every value compared.

python benchmarks/device_check.py [DEVICE]        (by default cuda)

100 random inputs up to size 200, seed 0, in each type; the first 40 value by value in float32.
Programs that write do so on inputs up to size 20, and what they wrote is compared as well.
"""

from __future__ import annotations

import sys

import torch

import espalier as es
from espalier import zoo
from espalier.programs import ask

TYPES = (torch.float32, torch.float64, torch.bfloat16)


def main() -> None:
    device = sys.argv[1] if len(sys.argv) > 1 else "cuda"
    name = torch.cuda.get_device_name() if device == "cuda" else device
    print(f"{name}, torch {torch.__version__}")
    compared = wrong = 0
    for program in zoo.names():
        entry = zoo.load(program)
        inputs = entry.samples(100, size=200 if entry.writing is None else 20)
        expected = ask(entry, inputs)
        for dtype in TYPES:
            try:
                model = es.compile_program(entry.program, dtype=dtype).to(device)
            except es.CompileError as error:
                print(f"{program} {dtype}: refused, {error}")
                continue
            same = ask(entry, inputs, model=model) == expected
            wrong += not same
            print(f"{program} {dtype}: {'outputs equal' if same else 'OUTPUTS DIFFER'}")
        model = es.compile_program(entry.program).to(device)
        read = [answer.read for answer in expected[:40]]
        found = es.verify(entry.program, read, model=model, max_layers=entry.max_layers)
        print(f"{program}: {found}")
        compared += found.values
        wrong += not found.ok
    print(f"{compared:,} values compared in all")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
