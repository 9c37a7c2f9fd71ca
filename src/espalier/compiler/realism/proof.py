"""Proof that a realistic network decodes to what its program says, or a refusal that says why not.

Every reader of the stream (a unit, a threshold, a query, a key, the unembedding, the halting unit,
the decoder) has an ideal row over meanings and an actual one over the stream. Where the stream
holds the meanings m, the reader is off by (actual x directions - ideal) m, whose range over all
states is found variable by variable. To that are added what heads carry wrongly in this layer, and
what earlier layers left behind: noise in what rules write, times the layers, noise in embeddings,
and rounding. A unit is exactly 0 or 1 as long as this is less than its slope leaves free; then it
passes no error on, and the next layer begins as this one did. docs/realism.md has the argument.
"""

from __future__ import annotations

import torch

from espalier.compiler.layout import Layout
from espalier.compiler.numbers import number_formats
from espalier.compiler.realism.bounds import Bounds
from espalier.errors import CompileError
from espalier.nets.compiled import Weights

# As many layers as anybody will run; tried first, then fewer, down to what is asked for.
DEPTHS = (1 << 20, 1 << 16, 1 << 12, 1 << 10, 1 << 8)


def prove(layout: Layout, weights: Weights, clean: Weights) -> int:
    """For how many layers every input is proven right; CompileError if for fewer than asked."""
    realism = layout.realism
    assert realism is not None
    _refuse_numbers(layout, weights.token_embedding.dtype)
    if realism.ramp > 1:
        raise CompileError(
            f"ramp={realism.ramp} is not proven right: a rule of which one condition fails still "
            f"writes {(1 - 1 / realism.ramp) / 2:.2g} of its value in every layer, and that adds "
            f"up; {_WAY_OUT}"
        )
    bounds = Bounds(layout, weights, clean)
    for layers in [depth for depth in DEPTHS if depth > realism.layers]:
        if bounds.shortfall(layers) is None:
            return layers
    found = bounds.shortfall(realism.layers)
    if found is None:
        return realism.layers
    remedy = "turn that dial back (a smaller ramp bears more, fewer positions or layers need less)"
    if found.culprit.startswith("the boundary") and weights.token_embedding.dtype != torch.float64:
        remedy = "numbers need dtype=torch.float64 there, or fewer positions and less sharpness"
    raise CompileError(
        f"realism ({realism}) is not proven right for {layout.positions} positions and "
        f"{realism.layers} layers: {found}; {remedy}, or {_WAY_OUT}"
    )


_WAY_OUT = (
    "give proven=False and let verify decide on your inputs; es.margins says how far each dial goes"
)


def _refuse_numbers(layout: Layout, dtype: torch.dtype) -> None:
    """Refuse what needs exact arithmetic where there is none."""
    realism, basis = layout.realism, layout.basis
    assert realism is not None
    assert basis is not None
    numerical = [name for name, form in layout.formats.items() if name in layout.program.read]
    numerical += [name for name in layout.flags if name not in numerical]
    if basis.is_plain and not realism.noise:
        return
    for name in numerical:
        form = layout.formats[name]
        if form.size > 1:
            wide = number_formats(layout.program, torch.float64, layout.positions)[name].size
            helps = dtype != torch.float64 and wide == 1
            raise CompileError(
                f"the numbers of {name!r} are held in {form.size} parts, which thresholds compare "
                f"digit by digit, exactly; no {dtype} survives that in other directions or with "
                f"noise; {'compile with dtype=torch.float64' if helps else 'round the numbers'}, "
                f"or leave out rotation, width and noise"
            )
        if realism.noise:
            raise CompileError(
                f"noise={realism.noise} is not proven right: {name!r} is numerical, its mean is "
                f"divided by a count, and a bound of both errors is too coarse; {_WAY_OUT}"
            )
