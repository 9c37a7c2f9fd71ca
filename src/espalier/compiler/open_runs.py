"""Runs module by module, which can be inspected and changed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from espalier.compiler.batches import pad
from espalier.compiler.cache import Recorder
from espalier.compiler.decoding import NULL, decode
from espalier.compiler.interventions import Intervener
from espalier.compiler.layout import Layout
from espalier.interventions import Plan
from espalier.language import Run, chunks
from espalier.nets.compiled import CompiledEncoder, run_probed

Touched = NDArray[np.bool_]


def run_with_plan(
    network: tuple[Layout, CompiledEncoder],
    sequences: Sequence[Sequence[int]],
    plan: Plan,
    *,
    max_layers: int | None,
    cache: bool = False,
) -> tuple[dict[int, Run], Touched]:
    """The run of every input under a plan, and which interventions have touched something."""
    touched = np.zeros(len(plan.owners), dtype=bool)
    runs: dict[int, Run] = {}
    for numbers in chunks(sequences):
        probe = (Recorder if cache else Intervener)(*network, plan, numbers)
        runs |= probed_runs(probe, sequences, max_layers=max_layers)
        touched |= probe.touched
    return runs, touched


def probed_runs(
    probe: Intervener, sequences: Sequence[Sequence[int]], *, max_layers: int | None
) -> dict[int, Run]:
    """The runs of the inputs of a probe, module by module; a null output is None."""
    layout, encoder, numbers = probe.layout, probe.encoder, probe.numbers
    chosen, name = [sequences[n] for n in numbers], layout.program.output_name
    tokens, lengths = pad(chosen, encoder.token_embedding.weight.device)
    finished, z = run_probed(encoder, tokens, lengths, probe, max_layers=max_layers)
    found = finished.logits.argmax(-1).tolist()
    layers, halted = finished.layers.tolist(), finished.halted.tolist()
    runs = {}
    for row, (number, sequence) in enumerate(zip(numbers, chosen, strict=True)):
        codes = decode(layout, z[row, : len(sequence)], [name], changed=True)[name]
        outputs = [None if c == NULL else o for c, o in zip(codes, found[row], strict=False)]
        cache = probe.cache(row, layers[row]) if isinstance(probe, Recorder) else None
        runs[number] = Run(outputs, layers[row], halted[row], cache=cache)  # type: ignore[arg-type]
    return runs
