"""A linear map whose matrix is almost all zero, multiplied the way that suits its entries."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from espalier.nets.weights import Sparse

# Below this many entries, or above this density, one dense product is the fastest.
SMALL = 1 << 12
DENSE = 0.25
# Hidden values held at a time by the sparse product, so that a block stays in the cache.
BLOCK = 1 << 20


class SparseLinear(nn.Module):
    """x -> W x (+ b) over the last axis.

    A matrix with one entry a row is a selection of columns, a small or full one is multiplied
    densely, and anything else is a sum of selected columns, taken with the features as rows so
    that each addition runs over many positions at once.
    """

    columns: Tensor
    values: Tensor
    starts: Tensor
    matrix: Tensor
    bias: Tensor | None

    def __init__(self, weight: Sparse, bias: Tensor | None = None) -> None:
        super().__init__()
        self.shape = weight.shape
        counts = torch.bincount(weight.rows, minlength=weight.shape[0])
        starts = torch.cat([torch.zeros(1, dtype=torch.long), counts.cumsum(0)])
        self.selects = bool((counts == 1).all())
        self.is_dense = not self.selects and (
            weight.shape[0] * weight.shape[1] <= SMALL or weight.density > DENSE
        )
        self.all_ones = bool((weight.values == 1).all())
        self.register_buffer("columns", weight.columns)
        self.register_buffer("values", weight.values)
        self.register_buffer("starts", starts)
        matrix = weight.dense() if self.is_dense else torch.empty(0, dtype=weight.values.dtype)
        self.register_buffer("matrix", matrix)
        self.register_buffer("bias", bias)

    def forward(self, x: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch R"]:
        """The product, in the type of `x`."""
        if self.selects:
            picked = x.index_select(-1, self.columns)
            product = picked if self.all_ones else picked * self.values
            return product if self.bias is None else product + self.bias
        if self.is_dense:
            return functional.linear(x, self.matrix, self.bias)
        flat = x.reshape(-1, x.shape[-1])
        return self.by_feature(flat.t().contiguous()).t().reshape(*x.shape[:-1], self.shape[0])

    def by_feature(self, x: Float[Tensor, "C P"]) -> Float[Tensor, "R P"]:
        """The product with features as rows, as the sum of the rows of `x` that are selected."""
        wide = x.float() if x.dtype == torch.bfloat16 else x
        weights = None if self.all_ones else self.values.to(wide.dtype)
        product = functional.embedding_bag(
            self.columns,
            wide,
            self.starts,
            mode="sum",
            per_sample_weights=weights,
            include_last_offset=True,
        )
        if self.bias is not None:
            product += self.bias.to(wide.dtype)[:, None]
        return product.to(x.dtype)
