"""The MLP of Appendix B: clipped ReLU units that are rules, beside a residual connection."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from espalier.axes import Residual
from espalier.nets.attention import at_least_float32
from espalier.nets.sparse import BLOCK, SparseLinear
from espalier.nets.weights import ExpansionWeights, FeedForwardWeights


class FeedForward(nn.Module):
    """z -> z + W2 clip(W1 y + b1), y being z followed by its expansion."""

    def __init__(self, weights: FeedForwardWeights) -> None:
        super().__init__()
        self.first = SparseLinear(weights.w1, weights.b1)
        self.second = SparseLinear(weights.w2)
        self.expansion = None if weights.expansion is None else Expansion(weights.expansion)

    def forward(self, z: Residual) -> Residual:
        """The residual stream after the MLP sub-layer."""
        flat = z.reshape(-1, z.shape[-1])
        rows = max(1, BLOCK // max(1, self.first.shape[0]))
        if flat.shape[0] <= rows:
            return (flat + self._update(flat)).reshape(z.shape)
        return torch.cat([part + self._update(part) for part in flat.split(rows)]).reshape(z.shape)

    def _update(self, z: Float[Tensor, "P D"]) -> Float[Tensor, "P D"]:
        seen = z if self.expansion is None else torch.cat([z, self.expansion(z).to(z.dtype)], -1)
        if self.first.is_dense or self.first.selects:
            return self.second(clip(self.first(seen)))
        # Both products want features as rows, so the wide hidden layer is never turned around.
        hidden = clip(self.first.by_feature(seen.t().contiguous()))
        return self.second.by_feature(hidden).t()


class Expansion(nn.Module):
    """What rules see of numbers, sets and averages: one-hot features, made by two layers."""

    def __init__(self, weights: ExpansionWeights) -> None:
        super().__init__()
        self.inner = SparseLinear(weights.inner, weights.inner_bias)
        self.outer = SparseLinear(weights.outer, weights.outer_bias)

    def forward(self, z: Float[Tensor, "P D"]) -> Float[Tensor, "P X"]:
        """The features, in float32 at least."""
        return clip(self.outer(clip(self.inner(at_least_float32(z)))))


def clip(x: Tensor) -> Tensor:
    """The clipped ReLU, max(0, min(1, x))."""
    return x.clamp(0, 1)
