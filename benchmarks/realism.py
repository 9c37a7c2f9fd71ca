"""How far each dial of realism goes on every program of the zoo, and what gradients it gives.

A pair is a token and an output of the same input; its gradient is that of the logit answered there
with respect to the token's embedding. Inputs are the zoo's own samples, of one seed.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import Any

import torch

import espalier as es
from benchmarks.harness import report
from espalier import zoo
from espalier.compiler import CompiledModel

INPUTS, SIZE, SEED = 3, 5, 0
# Gradients below this share of an input's largest are there, but useless.
USEFUL = 1e-6
# So that a row takes seconds.
SETTINGS: dict[str, dict[str, object]] = {
    "parity-sequential-absolute": {"positions": 16},
    "scan": {"outputs": 12},
    "subleq": {"lowest": -8, "highest": 7, "memory": 8},
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=zoo.names())
    report("realism", [row for name in parser.parse_args().names for row in rows_of(name)])


def rows_of(name: str) -> list[dict[str, Any]]:
    """A row for the clean network, and one for the end of each dial's range."""
    entry = zoo.load(name, **SETTINGS.get(name, {}))
    inputs = [entry.encode(given) for given in entry.samples(INPUTS, size=SIZE, seed=SEED)]
    began = time.perf_counter()
    found = es.margins(entry.program, inputs, max_layers=entry.max_layers)
    took = time.perf_counter() - began
    clean = es.compile_program(entry.program)
    rows = [_row(name, "clean", clean, inputs, entry.max_layers) | {"seconds": took}]
    for dial in found.dials:
        setting = 0 if dial.name == "rotation" else dial.right
        shown = {"right": dial.right, "wrong": dial.wrong, "gives way": dial.culprit}
        if setting is None:
            rows.append({"program": name, "dial": dial.name} | shown)
            continue
        model = es.compile_program(
            entry.program, realism=replace(found.realism, **{dial.name: setting})
        )
        rows.append(_row(name, dial.name, model, inputs, entry.max_layers) | shown)
    keys = dict.fromkeys(key for row in rows for key in row)
    print(name, f"{time.perf_counter() - began:.0f} s", flush=True)
    return [{key: row.get(key) for key in keys} for row in rows]


def _row(
    name: str, dial: str, model: CompiledModel, inputs: list[list[int]], layers: int | None
) -> dict[str, Any]:
    shares = [gradients(model, tokens, layers) for tokens in inputs]
    pairs = sum(count for count, _, _ in shares)
    return {
        "program": name,
        "dial": dial,
        "meanings": model.layout.width,
        "pairs": pairs,
        "nonzero": sum(found for _, found, _ in shares) / pairs,
        "useful": sum(found for _, _, found in shares) / pairs,
    }


def gradients(
    model: CompiledModel, tokens: list[int], max_layers: int | None
) -> tuple[int, int, int]:
    """Pairs of token and output, those with a gradient, and those with one of some size."""
    run, encoder = model.run(tokens, max_layers=max_layers), model.encoder
    z = encoder.embed(torch.tensor([tokens])).detach().requires_grad_()
    start, valid = z, torch.ones(1, len(tokens), dtype=torch.bool)
    halted = torch.zeros(1, dtype=torch.bool)
    for layer in range(run.layers):
        z, halted = encoder.step(z, valid, halted, layer)
    logits = encoder.unembedding(z)[0]
    sizes = []
    for place, code in enumerate(run.outputs):
        (slope,) = torch.autograd.grad(logits[place, code], start, retain_graph=True)
        sizes.append(slope[0].abs().amax(-1))
    found = torch.stack(sizes)
    useful = found > USEFUL * found.max()
    return found.numel(), int((found > 0).sum()), int(useful.sum())


if __name__ == "__main__":
    main()
