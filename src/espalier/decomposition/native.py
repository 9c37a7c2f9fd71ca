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
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from espalier.decomposition.shared import Ready

Laid = Float[Tensor, "seven P half_D W"]  # weights as `factor.lay_out` makes them

# All numbers are finite there; only sums that are marked are added up in another order.
ARITHMETIC = ("-fno-math-errno", "-fno-trapping-math", "-ffinite-math-only", "-fno-signed-zeros")
SPEED = ("-O3", "-march=native", "-funroll-loops", "-fopenmp-simd")
FLAGS = (*SPEED, *ARITHMETIC, "-shared", "-fPIC")
SECONDS = 60
SHARED = 21  # numbers a unit that rows share, as in rows.c
SOURCES, HEADER = ("rows.c", "product.c"), "power.h"


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


class Sizes(ctypes.Structure):
    """Rows, the units of each, how far apart they begin, and panels of weights: as in product.c."""

    _fields_ = tuple((name, ctypes.c_long) for name in ("count", "units", "apart", "panels"))


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
        self.multiplies = hasattr(library, "espalier_product")  # has products for this machine
        if self.multiplies:
            products = library.espalier_product, library.espalier_powers, library.espalier_squares
            self._product, self._powers, self._squares = products
            for function, parts in zip(products, (4, 5, 4), strict=True):
                function.argtypes = [Sizes] + [ctypes.c_void_p] * parts
                function.restype = None

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

    def multiply(
        self, rows: Float[Tensor, "R D"], weights: Laid, *, out: Tensor, scratch: Tensor
    ) -> None:
        """Fill `out` with rows times weights, laid out."""
        parts = map(_address, (weights, out, scratch))
        self._product(_sizes(rows, weights), rows.data_ptr(), *parts)

    def add_powers(
        self, sums: Tensor, rows: Float[Tensor, "R D"], weights: Laid, *, bias: Tensor, held: Tensor
    ) -> None:
        """Add the sum of 2^(rows times weights + bias) over each row, in what `held` has room for.

        Powers are brought between 2^-126 and 2^126.
        """
        parts = map(_address, (weights, held, bias, sums))
        self._powers(_sizes(rows, weights), rows.data_ptr(), *parts)

    def add_squares(
        self, sums: Tensor, rows: Float[Tensor, "R D"], weights: Laid, *, held: Tensor
    ) -> None:
        """Add the sum of squares of rows times weights."""
        parts = map(_address, (weights, held, sums))
        self._squares(_sizes(rows, weights), rows.data_ptr(), *parts)

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


@cache
def build() -> Native | None:
    """The step compiled for this machine, or None where that cannot be done."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None or os.environ.get("ESPALIER_NATIVE") == "0":
        return None
    here = files("espalier.decomposition")
    with tempfile.TemporaryDirectory() as name:
        folder, library = Path(name), Path(name) / "espalier.so"
        for source in (*SOURCES, HEADER):
            (folder / source).write_bytes((here / source).read_bytes())
        command = [compiler, *FLAGS, "-o", str(library), *(str(folder / one) for one in SOURCES)]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)
            return Native(ctypes.CDLL(str(library)))
        except (OSError, subprocess.SubprocessError, AttributeError):
            return None


def _sizes(rows: Float[Tensor, "R D"], weights: Laid) -> Sizes:
    assert rows.stride(1) == 1
    assert rows.dtype == torch.float32
    return Sizes(*rows.shape, rows.stride(0), weights.shape[1])


def _address(tensor: Tensor) -> int:
    assert tensor.is_contiguous()
    assert tensor.dtype == torch.float32
    return tensor.data_ptr()
