"""Everything that reads the stream of a realistic network, and how far off each may be."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from espalier.compiler.decoding import is_exact
from espalier.compiler.feedforward import passes_on, unit_labels
from espalier.compiler.layout import Layout
from espalier.language import Categorical, Numerical, SetValued
from espalier.nets.compiled import Sparse, Weights


@dataclass(frozen=True)
class Reader:
    """Rows that read the stream: actual (R x D), ideal (R x M), and how far off each may be (R)."""

    names: list[str]
    actual: Tensor
    ideal: Tensor
    slack: Tensor


def reader(names: list[str], actual: Sparse, ideal: Sparse, layout: Layout) -> Reader:
    """Rows that may be off by any amount, until a bound is set."""
    return Reader(
        names,
        actual.dense()[:, : layout.stream_width].double(),
        ideal.dense()[:, : layout.width].double(),
        torch.full((len(names),), math.inf, dtype=torch.float64),
    )


def unit_slack(layout: Layout) -> float:
    """What a unit's slope leaves free on each side, in the unit's own terms."""
    assert layout.realism is not None
    return (1 / layout.realism.ramp - 1) / 2


def units(layout: Layout, weights: Weights, clean: Weights) -> Reader:
    """The MLP's units: rules must be on or off, others pass on what they read."""
    names = [f"rule [{rule}]" for rule in layout.program.rules]
    names += unit_labels(layout)[len(names) :]
    found = reader(names, weights.feedforward.w1, clean.feedforward.w1, layout)
    for place, rule in enumerate(layout.program.rules):
        if not passes_on(layout, rule):
            found.slack[place] = unit_slack(layout)
    for place, name in enumerate(names):
        if name.startswith("remainder"):
            # It writes what it reads, times as much as its own column of W2.
            mine = clean.feedforward.w2.columns == place
            amount = float(clean.feedforward.w2.values[mine].abs().max())
            gaps = [float(b - a) for form in layout.formats.values() for a, b in form.edges]
            found.slack[place] = unit_slack(layout) * min(gaps, default=1.0) / amount / 8
    return found


def thresholds(layout: Layout, weights: Weights, clean: Weights) -> tuple[Reader, Tensor] | None:
    """The first layer of the expansion, and which of its units only copy.

    None without one, or where the parts of numbers are compared, which only exact streams allow.
    """
    mine, ideal = weights.feedforward.expansion, clean.feedforward.expansion
    in_parts = any(form.size > 1 for form in layout.formats.values())
    if mine is None or ideal is None or in_parts:
        return None
    names: list[str] = []
    for name in layout.expanded:
        match layout.program.specs[name]:
            case Numerical() as spec:
                names += [f"the boundary of {name!r} at {cut:g}" for cut in spec.boundaries]
                names += [f"copy of {name}"] * (name in layout.flags)
            case Categorical(size=size) | SetValued(size=size):
                names += [f"copy of {name}"] * size
    copies = torch.tensor([name.startswith("copy") for name in names])
    found = reader(names, mine.inner, ideal.inner, layout)
    found.slack[~copies] = unit_slack(layout)
    return found, copies


def outputs(layout: Layout, weights: Weights, clean: Weights) -> list[Reader]:
    """The unembedding, the halting unit, and the decoder of the stream."""
    program, basis = layout.program, layout.basis
    assert basis is not None
    name = program.output_name
    names = [f"the output {name!r} = {code}" for code in range(program.output.size)]
    found = [reader(names, weights.unembedding, clean.unembedding, layout)]
    found[0].slack[:] = 0.5
    halt = weights.halt
    if halt is not None and halt.direction is not None:
        ideal = Sparse.of((1, layout.width), [(0, halt.dimension, 1.0)])
        row = Sparse.of_dense(halt.direction[None])
        found.append(reader([f"halting by {program.halt}"], row, ideal, layout))
        found[-1].slack[:] = 0.5
    labels = [f"the meaning {label!r}" for label in layout.labels]
    rows = Sparse.of_dense(basis.readout.t())
    found.append(reader(labels, rows, Sparse.of_dense(torch.eye(layout.width)), layout))
    found[-1].slack[: layout.own.start] = 0.5
    for name, spec in program.specs.items():
        places = layout.dimensions(name)
        if isinstance(spec, Numerical):
            gaps = [float(high - low) for low, high in layout.formats[name].edges]
            found[-1].slack[places] = min(gaps, default=1.0) / 2
        elif not is_exact(layout, name):
            assert layout.positions is not None
            found[-1].slack[places] = 1 / (2 * layout.positions)
    return found
