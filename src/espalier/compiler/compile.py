"""The compiler: a program in, weights out, one pass a file."""

from __future__ import annotations

import torch

from espalier.compiler.embeddings import embed_positions, embed_tokens
from espalier.compiler.expansion import AVERAGED
from espalier.compiler.feedforward import tabulate
from espalier.compiler.heads import default_sharpness, project
from espalier.compiler.layout import Layout, averages, lay_out
from espalier.compiler.model import CompiledModel
from espalier.compiler.numbers import check_numbers, number_limit
from espalier.errors import CompileError
from espalier.language import Numerical, Program
from espalier.nets.compiled import HaltWeights, Sparse, Weights


def compile_program(
    program: Program,
    *,
    sharpness: float | None = None,
    dtype: torch.dtype = torch.float32,
) -> CompiledModel:
    """A Transformer that does what the interpreter does, layer by layer.

    `sharpness` is the logit of a match (the paper's lambda, there 100); by default it is as large
    as it takes for everything that is not selected to get a weight of exactly 0. Much below 50,
    what is not selected shows, the more the longer the input; `verify` tells whether it matters.

    >>> import espalier as es
    >>> model = es.compile_program(es.zoo.load("parity-sequential-relative").program)
    >>> model.run([2, 1, 0, 1]).outputs
    [0, 1, 1, 0]
    """
    if not isinstance(program, Program):
        raise CompileError(f"compile_program needs a Program; found {type(program).__name__}")
    if not isinstance(dtype, torch.dtype) or dtype not in AVERAGED:
        names = ", ".join(str(known) for known in AVERAGED)
        raise CompileError(f"cannot compile to {dtype}; choose one of {names}")
    if sharpness is not None and not _is_usable(sharpness, dtype):
        raise CompileError(f"sharpness must be a positive number; found {sharpness!r}")
    check_numbers(program, dtype)
    layout = lay_out(program, dtype)
    longest, why = min(_limits(layout, dtype), default=(None, ""))
    scale = default_sharpness(dtype) if sharpness is None else float(sharpness)
    weights = Weights(
        token_embedding=embed_tokens(layout, dtype),
        position_embedding=embed_positions(layout, dtype),
        heads=tuple(project(layout, name, scale, dtype) for name in program.heads),
        feedforward=tabulate(layout, dtype),
        unembedding=_unembed(layout, dtype),
        halt=_halt(layout),
        longest=longest,
        why=why,
        causal=program.causal,
    )
    return CompiledModel(layout, weights)


def _is_usable(sharpness: object, dtype: torch.dtype) -> bool:
    limit = torch.finfo(dtype).max / 4
    return isinstance(sharpness, int | float) and 0 < sharpness < limit


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
    program, found = layout.program, []
    for name, head in program.heads.items():
        if isinstance(program.specs[name], Numerical):
            found += number_limit(program, name, layout.formats)
        elif averages(program, head):
            most = AVERAGED[dtype] // 2
            why = f"head {name!r} cannot tell an average of {most + 1} that agree from others"
            found.append((most, why))
    return found
