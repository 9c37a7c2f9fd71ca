"""Matrices that many rows are multiplied with, by product.c where that is there.

Where only a sum over each row of the product is wanted, the product itself is not kept.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from espalier.decomposition.native import Laid, Native

TALL, WIDE = 12, 8  # rows and columns that product.c takes at a time
AT_ONCE = 16 * TALL  # rows whose product it holds where it keeps none
NOTHING = -1000.0  # 2^NOTHING adds nothing to a sum
# Columns of a triangle that are taken together, a multiple of 2 * WIDE.
TRIANGLE_COLUMNS = 112


class Factor:
    """A matrix that many rows are multiplied with; several threads may do so."""

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

    def held(self, rows: int) -> int:
        """How many numbers are held while the products of so many rows are summed up."""
        if self._laid.numel():
            return AT_ONCE * self.width + TALL * len(self._matrix) // 2
        return rows * self.width

    def add_powers(
        self, sums: Float[Tensor, " R"], rows: Float[Tensor, "R D"], *, bias: Tensor, held: Tensor
    ) -> None:
        """Add the sum of 2^(rows times the matrix + bias) over columns.

        `bias` is `width` wide, NOTHING where there is no column. Powers beyond 2^126 may be taken
        for that one, those below 2^-126 too.
        """
        if self._laid.numel():
            assert self._native is not None
            self._native.add_powers(sums, rows, self._laid, bias=bias, held=held)
        else:
            sums += self._product(rows, held).add_(bias).exp2_().sum(dim=-1)

    def add_squares(
        self, sums: Float[Tensor, " R"], rows: Float[Tensor, "R D"], *, held: Tensor
    ) -> None:
        """Add the sum of squares of rows times the matrix."""
        if self._laid.numel():
            assert self._native is not None
            self._native.add_squares(sums, rows, self._laid, held=held)
        else:
            sums += self._product(rows, held).square_().sum(dim=-1)

    def _product(self, rows: Tensor, held: Tensor) -> Float[Tensor, "R K"]:
        out = held[: len(rows) * self.width].view(len(rows), self.width)
        return torch.mm(rows, self._matrix, out=out)


class Triangle:
    """A matrix with nothing above its diagonal; of products with it the lengths are wanted.

    In blocks of columns, each of which leaves out the rows above it: two fifths of the arithmetic.
    """

    def __init__(self, matrix: Float[Tensor, "H H"], native: Native | None) -> None:
        self._starts = range(0, len(matrix), TRIANGLE_COLUMNS)
        self._factors = [
            Factor(matrix[start:, start : start + TRIANGLE_COLUMNS].contiguous(), native)
            for start in self._starts
        ]

    def lengths(self, vectors: Float[Tensor, "R H"]) -> Float[Tensor, " R"]:
        """|| vectors times the matrix ||."""
        squares = vectors.new_zeros(len(vectors))
        held = vectors.new_empty(max(factor.held(len(vectors)) for factor in self._factors))
        for start, factor in zip(self._starts, self._factors, strict=True):
            factor.add_squares(squares, vectors[:, start:], held=held)
        return squares.sqrt_()


def lay_out(matrix: Float[Tensor, "D K"]) -> Laid:
    """Strassen's sums of the quarters of a matrix, their columns in panels."""
    depth, width = len(matrix) // 2, matrix.shape[-1]
    upper, lower = functional.pad(matrix, (0, -width % (2 * WIDE))).split(depth)
    (a, b), (c, d) = (half.chunk(2, dim=-1) for half in (upper, lower))
    seven = torch.stack([a + d, a, b - d, c - a, d, a + b, c + d])
    return seven.view(7, depth, -1, WIDE).transpose(1, 2).contiguous()


def room(rows: int) -> int:
    """How many rows a result has to have room for: product.c fills in some at a time."""
    return -(-rows // (2 * TALL)) * 2 * TALL
