"""The MLP of Appendix B: clipped ReLU units that are rules, beside a residual connection."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from espalier.nets.compiled.sparse import SparseLinear, at_least_float32
from espalier.nets.compiled.weights import ExpansionWeights, FeedForwardWeights
from espalier.shapes import Residual

# Hidden values held at a time: few enough that a block of positions stays in a CPU's cache, enough
# that an accelerator is not kept waiting.
BLOCK, BLOCK_ON_DEVICE = 1 << 20, 1 << 26


class FeedForward(nn.Module):
    """z -> z + W2 clip(W1 y + b1), y being z followed by its expansion."""

    def __init__(self, weights: FeedForwardWeights) -> None:
        super().__init__()
        self.first = SparseLinear(weights.w1, weights.b1)
        self.second = SparseLinear(weights.w2)
        self.expansion = None if weights.expansion is None else Expansion(weights.expansion)

    def forward(self, z: Residual) -> Residual:
        """The residual stream after the MLP sub-layer."""
        return self.add_(z.clone())

    def add_(self, z: Residual) -> Residual:
        """The same, in place."""
        held = BLOCK if z.device.type == "cpu" else BLOCK_ON_DEVICE
        rows = max(1, held // max(1, self.first.height))
        for part in z.view(-1, z.shape[-1]).split(rows):
            self.second.add_to(part, self._change(part))
        return z

    def _change(self, z: Float[Tensor, "P D"]) -> Float[Tensor, "P rows"]:
        """What is added to the dimensions that rules write."""
        seen = z if self.expansion is None else torch.cat([z, self.expansion(z).to(z.dtype)], -1)
        if self.first.is_dense or self.first.selects:
            return self.second.compact(clip(self.first.compact(seen)))
        # Both products want features as rows, so the wide hidden layer is never turned around.
        hidden = clip(self.first.by_feature(self.first.read(seen).t().contiguous()))
        if self.second.is_dense or self.second.selects:
            return self.second.compact(hidden.t())
        return self.second.by_feature(hidden[self.second.reads]).t()


class Expansion(nn.Module):
    """What rules see of numbers, sets and averages: one-hot features, made by two layers."""

    def __init__(self, weights: ExpansionWeights) -> None:
        super().__init__()
        self.inner = SparseLinear(weights.inner, weights.inner_bias)
        self.outer = SparseLinear(weights.outer, weights.outer_bias)

    def forward(self, z: Float[Tensor, "P D"]) -> Float[Tensor, "P X"]:
        """The features, in float32 at least."""
        return clip(self.outer.compact(clip(self.inner.compact(at_least_float32(z)))))


def clip(x: Tensor) -> Tensor:
    """The clipped ReLU, max(0, min(1, x))."""
    return x.clamp(0, 1)
