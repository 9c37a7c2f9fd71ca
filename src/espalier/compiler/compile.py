"""The compiler: a program in, a model out."""

from __future__ import annotations

from dataclasses import replace

import torch

from espalier.compiler.basis import Realism
from espalier.compiler.expansion import AVERAGED
from espalier.compiler.heads import default_sharpness
from espalier.compiler.layout import Layout, lay_out
from espalier.compiler.model import CompiledModel
from espalier.compiler.numbers import check_numbers
from espalier.compiler.realism import add_distractors, choose_basis, mix, prove
from espalier.compiler.weights import weights_of
from espalier.errors import CompileError
from espalier.language import Program
from espalier.nets import refuse_beyond_memory
from espalier.nets.compiled import Weights


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
    what is not selected shows, the more the longer the input; `verify` checks whether it matters.
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
    what = f"a network of {layout.width:,} dimensions"
    refuse_beyond_memory(what, 2 * program.input_range * layout.width, error=CompileError)
    scale = default_sharpness(dtype) if sharpness is None else float(sharpness)
    weights = weights_of(layout, scale, dtype)
    return CompiledModel(layout, weights) if realism is None else _realistic(layout, weights)


def _realistic(layout: Layout, clean: Weights) -> CompiledModel:
    """The model for the layout's realism."""
    realism = layout.realism
    assert realism is not None
    clean = add_distractors(layout, clean)
    basis = choose_basis(layout, realism)
    layout = replace(layout, basis=basis)
    weights = mix(layout, clean)
    if realism.proven:
        layout = replace(layout, basis=replace(basis, layers=prove(layout, weights, clean)))
    return CompiledModel(layout, weights)


def _with_sharpness(realism: object, sharpness: float | None) -> Realism:
    """The realism with the sharpness, which may be given in either of two places."""
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
