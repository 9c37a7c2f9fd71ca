"""Tokens a second of the programs that write: with cached keys and values, and rerun each time.

Both are measured in one run, on the same prompts, and write the same tokens. A rerun sends the
whole text through `interpret_many` or `run_many` for every token. The last column is a ratio within
this run.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import torch

import espalier as es
from benchmarks.harness import best_of, report
from espalier import zoo
from espalier.compiler import CompiledModel
from espalier.language import Program
from espalier.zoo import Entry

# Bits of the string, digits of both numbers.
SIZES = {"parity-scratchpad": (8, 32), "addition-scratchpad": (4, 16)}
BATCHES = (1, 64)


def without_cache(
    machine: Program | CompiledModel, prompts: Sequence[Sequence[int]], stop: int
) -> list[tuple[int, ...]]:
    """What `generate_many` writes, by running everything again for each token."""
    texts = [list(prompt) for prompt in prompts]
    going = list(range(len(texts)))
    while going:
        batch = [texts[n] for n in going]
        symbols = isinstance(machine, Program)
        runs = es.interpret_many(machine, batch) if symbols else machine.run_many(batch)
        for number, run in zip(going, runs, strict=True):
            texts[number].append(run.outputs[-1])
        going = [n for n in going if texts[n][-1] != stop]
    return [tuple(text[len(p) :]) for text, p in zip(texts, prompts, strict=True)]


def inputs(name: str, size: int, count: int) -> list[str]:
    source = random.Random(0)

    def digits(alphabet: str) -> str:
        return "".join(source.choices(alphabet, k=size))

    if name == "parity-scratchpad":
        return [digits("01") for _ in range(count)]
    return [f"{digits('0123456789')}+{digits('0123456789')}" for _ in range(count)]


def measure(entry: Entry, machine: Program | CompiledModel, size: int) -> list[dict]:
    rows: list[dict[str, Any]] = []
    assert entry.writing is not None
    stop = entry.writing.stop
    for count in BATCHES:
        prompts = [entry.encode(text) for text in inputs(entry.name, size, count)]
        asked = {"max_tokens": [len(prompt) for prompt in prompts], "stop": stop}
        texts = es.generate_many(machine, prompts, **asked)
        assert [text.tokens for text in texts] == without_cache(machine, prompts, stop)
        tokens = sum(len(text.tokens) for text in texts)
        cached = best_of(2, lambda p=prompts, a=asked: es.generate_many(machine, p, **a))
        uncached = best_of(2, lambda p=prompts: without_cache(machine, p, stop))
        device = "symbols" if isinstance(machine, Program) else str(machine.device)
        rows.append(
            {
                "program": entry.name,
                "machine": device,
                "size": size,
                "batch": count,
                "tokens": tokens,
                "layers a token": sum(sum(text.layers) for text in texts) / tokens,
                "cached tokens/s": tokens / cached,
                "uncached tokens/s": tokens / uncached,
                "cached / uncached": uncached / cached,
            }
        )
    return rows


def main() -> None:
    devices = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    rows = []
    for name, sizes in SIZES.items():
        entry = zoo.load(name)
        model = es.compile_program(entry.program)
        for size in sizes:
            rows += measure(entry, entry.program, size)
            for device in devices:
                rows += measure(entry, model.to(device), size)
    report("generation", rows)


if __name__ == "__main__":
    main()
