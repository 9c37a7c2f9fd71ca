"""All weights of a program; each pass is a file of its own."""

from __future__ import annotations

import torch

from espalier.compiler.embeddings import embed_positions, embed_tokens
from espalier.compiler.expansion import AVERAGED
from espalier.compiler.feedforward import tabulate
from espalier.compiler.heads import project
from espalier.compiler.layout import Layout, averages
from espalier.compiler.numbers import number_limit
from espalier.language import Numerical
from espalier.nets.compiled import PROVEN_FOR, HaltWeights, Sparse, Weights


def weights_of(layout: Layout, sharpness: float, dtype: torch.dtype) -> Weights:
    """The weights of a stream that holds each meaning in a dimension of its own."""
    program = layout.program
    longest, why = min(_limits(layout, dtype), default=(None, ""))
    return Weights(
        token_embedding=embed_tokens(layout, dtype),
        position_embedding=embed_positions(layout, dtype),
        heads=tuple(project(layout, name, sharpness, dtype) for name in program.heads),
        feedforward=tabulate(layout, dtype),
        unembedding=_unembed(layout, dtype),
        halt=_halt(layout),
        longest=longest,
        why=why,
        causal=program.causal,
    )


def _unembed(layout: Layout, dtype: torch.dtype) -> Sparse:
    """Select the dimensions of the output variable."""
    dimensions = layout.dimensions(layout.program.output_name)
    entries = [(row, dimension, 1.0) for row, dimension in enumerate(dimensions)]
    return Sparse.of((len(dimensions), layout.width), entries, dtype)


def _halt(layout: Layout) -> HaltWeights | None:
    halt = layout.program.halt
    return None if halt is None else HaltWeights(layout.dimension(halt.variable, halt.value))


def _limits(layout: Layout, dtype: torch.dtype) -> list[tuple[int, str]]:
    """How long a sequence may be for each head that averages, and why not longer."""
    program, found = layout.program, list[tuple[int, str]]()
    if layout.realism is not None and layout.realism.proven:
        # No longer one can be proven right.
        found.append((layout.realism.positions, PROVEN_FOR))
    most = layout.positions or AVERAGED[dtype] // 2
    for name, head in program.heads.items():
        if isinstance(program.specs[name], Numerical):
            found += number_limit(program, name, layout.formats)
        elif averages(program, head):
            agree = f"an average of {most + 1} that agree"
            found.append((most, f"head {name!r} cannot distinguish {agree} from others"))
    return found
