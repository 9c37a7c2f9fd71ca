"""The compiler: a program in, weights out, one pass a file."""

from __future__ import annotations

from dataclasses import replace

import torch

from espalier.compiler.basis import Realism
from espalier.compiler.embeddings import embed_positions, embed_tokens
from espalier.compiler.expansion import AVERAGED
from espalier.compiler.feedforward import tabulate
from espalier.compiler.heads import default_sharpness, project
from espalier.compiler.layout import Layout, averages, lay_out
from espalier.compiler.model import CompiledModel
from espalier.compiler.numbers import check_numbers, number_limit
from espalier.compiler.realism import add_distractors, choose_basis, mix
from espalier.errors import CompileError
from espalier.language import Numerical, Program
from espalier.nets.compiled import HaltWeights, Sparse, Weights


def compile_program(
    program: Program,
    *,
    sharpness: float | None = None,
    dtype: torch.dtype = torch.float32,
    realism: Realism | None = None,
) -> CompiledModel:
    """A Transformer that does what the interpreter does, layer by layer.

    `sharpness` is the logit of a match (the paper's lambda, there 100); by default it is as large
    as it takes for everything that is not selected to get a weight of exactly 0. Much below 50,
    what is not selected shows, the more the longer the input; `verify` tells whether it matters.
    With `realism` the network is less clean, and refused where that could change a value.

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
    if realism is not None:
        realism = _with_sharpness(realism, sharpness)
        sharpness = realism.sharpness
    if sharpness is not None and not _is_usable(sharpness, dtype):
        raise CompileError(f"sharpness must be a positive number; found {sharpness!r}")
    check_numbers(program, dtype)
    layout = lay_out(program, dtype, realism)
    scale = default_sharpness(dtype) if sharpness is None else float(sharpness)
    weights = _clean(layout, scale, dtype)
    return CompiledModel(layout, weights) if realism is None else _realistic(layout, weights)


def _clean(layout: Layout, sharpness: float, dtype: torch.dtype) -> Weights:
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


def _realistic(layout: Layout, clean: Weights) -> CompiledModel:
    """The model that the layout's realism asks for."""
    assert layout.realism is not None
    clean = add_distractors(layout, clean)
    layout = replace(layout, basis=choose_basis(layout, layout.realism))
    return CompiledModel(layout, mix(layout, clean))


def _with_sharpness(realism: object, sharpness: float | None) -> Realism:
    """The realism with the sharpness that is asked for, in one of two ways."""
    if not isinstance(realism, Realism):
        raise CompileError(f"realism is made by espalier.Realism(...); found {realism!r}")
    if sharpness is None:
        return realism
    if realism.sharpness is not None:
        raise CompileError(
            f"sharpness is given twice, as {sharpness!r} and as {realism.sharpness!r} in realism; "
            "leave out one of them"
        )
    return replace(realism, sharpness=sharpness)


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
    most = layout.positions or AVERAGED[dtype] // 2
    for name, head in program.heads.items():
        if isinstance(program.specs[name], Numerical):
            found += number_limit(program, name, layout.formats)
        elif averages(program, head):
            why = f"head {name!r} cannot tell an average of {most + 1} that agree from others"
            found.append((most, why))
    return found
