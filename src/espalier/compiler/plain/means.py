"""Means of numbers by an ordinary softmax, which rounds: thresholds that lie far enough away."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import torch

from espalier.compiler.heads import default_sharpness
from espalier.compiler.layout import Layout, lay_out
from espalier.compiler.numbers import Format, mean_edges, number_formats
from espalier.compiler.weights import weights_of
from espalier.errors import CompileError
from espalier.language import Program, meant
from espalier.nets.compiled import Weights


def with_softmax_means(layout: Layout, weights: Weights, positions: int) -> tuple[Layout, Weights]:
    """The program compiled for float64, each threshold midway between means of `positions`.

    Softmax gives n matches 1/n each, rounded, and adds up n products: an error of at most
    (n + 3) 2**-53 times the largest number. A threshold rises within the middle half of the gap
    between the means on its two sides, which is wider than that by a calculation, or refused.
    """
    program = layout.program
    formats = number_formats(program, torch.float64)
    for name, head in program.heads.items():
        if name in layout.flags:
            formats[name] = _format(program, name, formats[head.value], positions)
    given = 2 * weights.heads[0].sink
    is_default = given == default_sharpness(weights.token_embedding.dtype)
    sharpness = default_sharpness(torch.float64) if is_default else given
    wide = lay_out(program, torch.float64, formats=formats)
    return wide, weights_of(wide, sharpness, torch.float64)


def too_long(program: Program, name: str, size: int) -> CompileError:
    """What to say of a mean that takes so many floats."""
    held = program.held[program.heads[name].value]
    return CompileError(
        f"head {name!r} averages numbers from {min(held):g} to {max(held):g} that only a sum "
        f"of {size} floats holds, and softmax cannot divide such sums exactly; rescale "
        f"or round them"
    )


def _format(program: Program, name: str, value: Format, positions: int) -> Format:
    held, factor = program.held[program.heads[name].value], value.parts.factor
    if value.size > 1:
        raise too_long(program, name, value.size)
    largest = max(abs(meant(number)) for number in held) / factor
    error, edges = (positions + 8) * largest / Fraction(2) ** 52, []
    for low, high in mean_edges(program, name, factor, positions):
        margin = (high - low) / 4
        if margin <= 2 * error:
            raise CompileError(
                f"over {positions} positions head {name!r} could report {float(low * factor)!r} "
                f"and {float(high * factor)!r}, which softmax in float64 may not distinguish: "
                f"it errs by up to {float(error * factor):.1g}; unroll for fewer positions"
            )
        edges.append((low + margin, high - margin))
    return replace(value, edges=tuple(edges), is_float=True, reach=positions)
