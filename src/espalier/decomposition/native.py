"""rows.c and product.c, where there is a C compiler: built when a corpus first wants them.

Nothing needs it. Without a compiler, or where it does not agree with the plain way, the plain way
is taken; it is for float32 on a CPU, where it halves what is not matrix products.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from espalier.decomposition.shared import Ready

# All numbers are finite there; only sums that are marked are added up in another order.
ARITHMETIC = ("-fno-math-errno", "-fno-trapping-math", "-ffinite-math-only", "-fno-signed-zeros")
SPEED = ("-O3", "-march=native", "-funroll-loops", "-fopenmp-simd")
FLAGS = (*SPEED, *ARITHMETIC, "-shared", "-fPIC")
SECONDS = 60
SHARED = 21  # numbers a unit that rows share, as in rows.c
TALL, WIDE = 12, 8  # rows and columns that product.c takes at a time


@dataclass(frozen=True)
class Packed:
    """What `Shared` holds, as rows.c lays it out: a row for each sentence, 21 H wide."""

    block: Float[Tensor, "S twenty_one_H"]
    units: int

    @property
    def single(self) -> Float[Tensor, "S H"]:
        """What the step's own word contributes to the hidden state alone."""
        return self._part(19)

    @property
    def single_cell(self) -> Float[Tensor, "S H"]:
        """And twice what it contributes to the cell."""
        return self._part(20)

    def _part(self, number: int) -> Float[Tensor, "S H"]:
        return self.block[:, number * self.units : (number + 1) * self.units]

    def of(self, sentences: slice) -> Packed:
        """The same of some sentences, as a view."""
        return Packed(self.block[sentences], self.units)


class State(NamedTuple):
    """Of one layer's rows: cells (R, H), both continuations (2, R, H), two squares (R, 2)."""

    cell: Tensor
    hidden: Tensor
    squared: Tensor


class Native:
    """The compiled steps. The lock of Python's threads is not held meanwhile."""

    def __init__(self, library: Any) -> None:
        self._share, self._through = library.espalier_share, library.espalier_through
        self._share.argtypes = [ctypes.c_long] * 3 + [ctypes.c_void_p] * 9
        self._share.restype = ctypes.c_int
        self._through.argtypes = [ctypes.c_long] * 5 + [ctypes.c_void_p] * 9
        self._through.restype = None
        self._product = getattr(library, "espalier_product", None)
        if self._product is not None:
            self._product.argtypes = [ctypes.c_long] * 3 + [ctypes.c_void_p] * 4
            self._product.restype = None

    def share(
        self,
        ready: Ready,
        past: Float[Tensor, "S K"],
        given: Float[Tensor, "S four_H"],
        *,
        own: Float[Tensor, "S four_H"],
        state: Float[Tensor, "2 S H"],
    ) -> Packed | None:
        """What `plain_step` and `share_step` say together, or None where it does not reach.

        V h is in `past`, W x in `given`; `own` is the word's own input. `state` is moved on.
        """
        (sentences, units), scratch = state[0].shape, given.new_empty(6 * ready.units)
        block = given.new_empty(sentences, SHARED * units)
        weights = (ready.layer.bias, ready.squashed_bias)
        parts = (past, given, own, *weights, state[0], state[1], block, scratch)
        reached = self._share(sentences, units, past.shape[-1], *map(_address, parts))
        return Packed(block, units) if reached else None

    @property
    def multiplies(self) -> bool:
        """Whether there is a product of its own for this machine."""
        return self._product is not None

    def multiply(
        self,
        rows: Float[Tensor, "R D"],
        weights: Float[Tensor, "seven P half_D W"],
        *,
        out: Tensor,
        scratch: Tensor,
    ) -> None:
        """Fill `out` with rows times weights, as `lay_out` makes them."""
        assert self._product is not None
        parts = (rows, weights, out, scratch)
        self._product(*rows.shape, weights.shape[1], *map(_address, parts))

    def through(
        self,
        some: slice,
        gates: tuple[Tensor, Tensor | None],
        now: Packed,
        *,
        minus_biases: Tensor,
        state: State,
        scratch: Tensor,
    ) -> None:
        """Move the cells of some rows on, and fill in both continuations and their squares.

        `gates` are V h of both, or of the first where they differ by the word alone.
        """
        parts = (
            *gates, now.block, minus_biases, state.cell, *state.hidden, state.squared, scratch,
        )  # fmt: skip
        addresses = (None if part is None else _address(part) for part in parts)
        sizes = (some.start, some.stop, len(now.block), now.units, gates[0].shape[-1])
        self._through(*sizes, *addresses)


class Factor:
    """A matrix that many rows are multiplied with, by product.c where that is there."""

    def __init__(self, matrix: Float[Tensor, "D K"], native: Native | None) -> None:
        self._matrix, self._native, self._laid = matrix, native, matrix.new_empty(0)
        self.width = matrix.shape[-1]  # of a row of the result
        if native is not None and native.multiplies and len(matrix) % 2 == 0:
            self._laid = lay_out(matrix)
            self.width = 2 * WIDE * self._laid.shape[1]

    def times(self, rows: Float[Tensor, "R D"], *, out: Tensor, scratch: Tensor) -> None:
        """Fill the rows of `out` with rows times the matrix.

        There is to be `room` for rows in `out`, and for `TALL` of them in `scratch`.
        """
        if self._laid.numel():
            assert self._native is not None
            self._native.multiply(rows, self._laid, out=out, scratch=scratch)
        else:
            torch.mm(rows, self._matrix, out=out[: len(rows)])


def lay_out(matrix: Float[Tensor, "D K"]) -> Float[Tensor, "seven P half_D W"]:
    """Strassen's sums of the quarters of a matrix, their columns in panels."""
    depth, width = len(matrix) // 2, matrix.shape[-1]
    upper, lower = functional.pad(matrix, (0, -width % (2 * WIDE))).split(depth)
    (a, b), (c, d) = (half.chunk(2, dim=-1) for half in (upper, lower))
    seven = torch.stack([a + d, a, b - d, c - a, d, a + b, c + d])
    return seven.view(7, depth, -1, WIDE).transpose(1, 2).contiguous()


def room(rows: int) -> int:
    """How many rows a result has to have room for: product.c fills in some at a time."""
    return -(-rows // (2 * TALL)) * 2 * TALL


@cache
def build() -> Native | None:
    """The step compiled for this machine, or None where that cannot be done."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None or os.environ.get("ESPALIER_NATIVE") == "0":
        return None
    here = files("espalier.decomposition")
    with (
        as_file(here / "rows.c") as rows,
        as_file(here / "product.c") as product,
        tempfile.TemporaryDirectory() as folder,
    ):
        library = Path(folder) / "rows.so"
        command = [compiler, *FLAGS, "-o", str(library), str(rows), str(product)]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)
            return Native(ctypes.CDLL(str(library)))
        except (OSError, subprocess.SubprocessError, AttributeError):
            return None


def _address(tensor: Tensor) -> int:
    assert tensor.is_contiguous()
    assert tensor.dtype == torch.float32
    return tensor.data_ptr()
