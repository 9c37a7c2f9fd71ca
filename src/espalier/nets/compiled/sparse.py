"""A linear map whose matrix is almost all zero, multiplied the way that suits its entries."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from espalier.nets.compiled.weights import Sparse

# Below this many entries, or above this density, one dense product is the fastest.
SMALL = 1 << 12
DENSE = 0.25


class SparseLinear(nn.Module):
    """x -> W x + b over the last axis, reading only the columns of W that hold an entry.

    `compact` gives only the rows that hold an entry (all of them if there is a bias); `rows` says
    which they are. One entry per row is a selection, a small or full matrix is multiplied densely,
    and anything else is a sum of selected columns, taken with the features as rows so that each
    addition runs over many positions at once.
    """

    rows: Tensor
    reads: Tensor
    columns: Tensor
    values: Tensor
    starts: Tensor
    matrix: Tensor
    bias: Tensor | None

    def __init__(self, weight: Sparse, bias: Tensor | None = None) -> None:
        super().__init__()
        self.height = weight.shape[0]
        rows = weight.rows.unique() if bias is None else torch.arange(self.height)
        reads, columns = weight.columns.unique(return_inverse=True)
        counts = torch.bincount(torch.searchsorted(rows, weight.rows), minlength=len(rows))
        starts = torch.cat([torch.zeros(1, dtype=torch.long), counts.cumsum(0)])
        core = Sparse(
            (len(rows), len(reads)), torch.searchsorted(rows, weight.rows), columns, weight.values
        )
        self.selects = bool((counts == 1).all()) and len(rows) > 0
        self.is_dense = not self.selects and (
            len(rows) * len(reads) <= SMALL or core.density > DENSE
        )
        self.all_ones = bool((weight.values == 1).all())
        # A selection reads its columns in the order of its rows; the others read each once.
        self.read_slice = as_slice(weight.columns if self.selects else reads)
        self.row_slice = as_slice(rows)
        matrix = core.dense() if self.is_dense else torch.empty(0, dtype=weight.values.dtype)
        for name, tensor in (
            ("rows", rows),
            ("reads", weight.columns if self.selects else reads),
            ("columns", columns),
            ("values", weight.values),
            ("starts", starts),
            ("matrix", matrix),
            ("bias", bias),
        ):
            self.register_buffer(name, tensor)

    def forward(self, x: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch R"]:
        """The whole product, rows without entries being zero."""
        product = self.compact(x)
        if len(self.rows) == self.height:
            return product
        whole = product.new_zeros(*x.shape[:-1], self.height)
        whole[..., self.rows] = product
        return whole

    def compact(self, x: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch rows"]:
        """The rows of the product that hold an entry, in the type of `x`."""
        read = self.read(x)
        if self.selects:
            product = read if self.all_ones else read * self.values
            return product if self.bias is None else product + self.bias
        if self.is_dense:
            wide = at_least_float32(read)
            bias = None if self.bias is None else self.bias.to(wide.dtype)
            return functional.linear(wide, self.matrix.to(wide.dtype), bias).to(x.dtype)
        flat = read.reshape(-1, read.shape[-1])
        return self.by_feature(flat.t().contiguous()).t().reshape(*x.shape[:-1], len(self.rows))

    def read(self, x: Tensor) -> Tensor:
        """The columns that the product reads: a view where they are next to each other."""
        if self.read_slice is not None:
            return x[..., self.read_slice]
        return x.index_select(-1, self.reads)

    def by_feature(self, x: Float[Tensor, "reads P"]) -> Float[Tensor, "rows P"]:
        """The product with features as rows, as the sum of the rows of `x` that are selected."""
        wide = at_least_float32(x)
        product = functional.embedding_bag(
            self.columns,
            wide,
            self.starts,
            mode="sum",
            per_sample_weights=None if self.all_ones else self.values.to(wide.dtype),
            include_last_offset=True,
        )
        if self.bias is not None:
            product += self.bias.to(wide.dtype)[:, None]
        return product.to(x.dtype)

    def add_to(self, z: Tensor, product: Tensor) -> Tensor:
        """`z` with a compact product added to the rows it belongs to, in place."""
        if self.row_slice is not None:
            z[..., self.row_slice] += product
        else:
            z.index_add_(-1, self.rows, product.expand(*z.shape[:-1], -1))
        return z


def at_least_float32(x: Tensor) -> Tensor:
    """`x`, widened if its type is narrower: sums of many terms must not be rounded away."""
    return x if x.dtype in (torch.float32, torch.float64) else x.float()


def as_slice(places: Tensor) -> slice | None:
    """The slice that takes these places in this order, if they follow each other."""
    if not len(places):
        return slice(0, 0)
    first = int(places[0])
    if torch.equal(places, torch.arange(first, first + len(places))):
        return slice(first, first + len(places))
    return None
