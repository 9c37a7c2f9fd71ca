"""Refusals of edited and realistic means that a textbook softmax does not compute as they are."""

from __future__ import annotations

import math

import torch

from espalier.compiler.layout import Layout
from espalier.compiler.plain.means import too_long
from espalier.errors import CompileError
from espalier.language import meant
from espalier.nets.compiled import HeadWeights, Weights

# exp(-sink) is less than a float64 rounds a mean by.
LEAST_SINK = 40.0
# How much of a feature may be lost to rounding.
VISIBLE = 2.0**-20


def check_means(layout: Layout, weights: Weights, positions: int, *, edited: bool) -> None:
    """Refuse weights, edited or realistic, that softmax may not compute as they are.

    Their thresholds are not moved. A compiled mean leaves out the sink, whose share of a softmax is
    exp(-sink); the rest is rounding, which a threshold multiplies by its slope.
    """
    expansion, program = weights.feedforward.expansion, layout.program
    assert expansion is not None
    reads = expansion.inner.dense().double()
    is_proven = layout.basis is not None and layout.basis.layers is not None and not edited
    for name, head in zip(layout.head_names, weights.heads, strict=True):
        if name not in layout.flags:
            continue
        form = layout.formats[name]
        if form.size > 1:
            raise too_long(program, name, form.size)
        if head.sink < LEAST_SINK:
            raise CompileError(
                f"head {name!r} averages numbers, and with a sharpness of {2 * head.sink:g} a "
                f"textbook softmax gives {math.exp(-head.sink):.1g} of a mean to the sink, which a "
                f"compiled model leaves out; compile with a sharpness of {2 * LEAST_SINK:g} or more"
            )
        if weights.token_embedding.dtype != torch.float64 and not is_proven:
            was = "the weights were edited" if edited else "realism is not proven right"
            raise CompileError(
                f"{was}, and head {name!r} averages numbers, which are rounded to "
                f"{weights.token_embedding.dtype} before thresholds read them, but not by a "
                "textbook softmax; compile with dtype=torch.float64"
            )
        slope = float((reads @ head.output.dense().double()[:, 0]).abs().max())
        held = program.held[program.heads[name].value]
        largest = float(max(abs(meant(number)) for number in held) / form.parts.factor)
        error = (positions + 8) * largest / 2**52
        miscount = 0.0 if is_proven else largest * _miscount(weights, head)
        if slope * max(error, miscount) > VISIBLE:
            why = f"over {positions} positions softmax may err by {error:.1g} in its mean"
            remedy = "unroll or compile for fewer positions"
            if miscount > error:
                why = f"a position may count for more or less than 1 there, by {miscount:.1g}"
                remedy = "a textbook softmax counts each as 1; leave that dimension as it was"
            raise CompileError(
                f"head {name!r} averages numbers, and {why}, which a threshold multiplies by "
                f"{slope:.1g}; {remedy}"
            )


def _miscount(weights: Weights, head: HeadWeights) -> float:
    """How far from 1 a position may be where it is counted: at first, or by what is written."""
    row, most, least = head.value.dense().double()[-1], 0.0, 0.0
    for table in (weights.token_embedding, weights.position_embedding):
        if table is not None:
            there = table.double() @ row
            most, least = most + float(there.max()), least + float(there.min())
    writers = [weights.feedforward.w2, *(one.output for one in weights.heads)]
    written = [row @ matrix.dense().double() for matrix in writers]
    return max(most - 1, 1 - least, *(float(w.abs().max()) for w in written if len(w)))
