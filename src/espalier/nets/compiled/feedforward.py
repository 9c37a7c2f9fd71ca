"""The MLP of Appendix B: clipped ReLU units that are rules, with a residual connection."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from espalier.nets.compiled.lookup import Lookup, look_up
from espalier.nets.compiled.sparse import SparseLinear
from espalier.nets.compiled.weights import ExpansionWeights, FeedForwardWeights
from espalier.shapes import Residual

# Hidden values held at a time: few enough that a block of positions stays in a CPU's cache, enough
# that an accelerator is not kept waiting.
BLOCK, BLOCK_ON_DEVICE = 1 << 20, 1 << 26
# Below this many products, computing all units is faster than looking up those that are on.
LITTLE, LITTLE_ON_DEVICE = 1 << 21, 1 << 28


class FeedForward(nn.Module):
    """z -> z + W2 clip(W1 y + b1), y being z followed by its expansion.

    `groups` are columns of y that are one-hot, or zero, in a stream that a program makes. There
    the units that are on are looked up; wherever a stream is not like that, all are computed.
    """

    def __init__(self, weights: FeedForwardWeights, groups: Sequence[range] = ()) -> None:
        super().__init__()
        self.units = _Units(weights)
        self.expansion = None if weights.expansion is None else Expansion(weights.expansion)
        self.lookup, others = look_up(weights, groups)
        self.others = _Units(others)

    def forward(self, z: Residual) -> Residual:
        """The residual stream after the MLP sub-layer."""
        return self.add_(z.clone())

    def add_(self, z: Residual) -> Residual:
        """The same, in place."""
        flat = z.view(-1, z.shape[-1])
        little = LITTLE if z.device.type == "cpu" else LITTLE_ON_DEVICE
        if self.lookup is None or len(flat) * self.units.entries < little:
            self._compute(flat)
        else:
            self._look_up(flat, self.lookup)
        return z

    def _compute(self, z: Float[Tensor, "P D"]) -> None:
        """Add what all units write."""
        for part in z.split(_rows(z, self.units.first.height)):
            self.units.add_(part, self._see(part))

    def _look_up(self, z: Float[Tensor, "P D"], lookup: Lookup) -> None:
        """Add what the units write that are on."""
        for part in z.split(_rows(z, max(len(lookup.columns), self.others.first.height))):
            seen = self._see(part)
            codes, is_exact = lookup.read(seen)
            rest = part[~is_exact]
            if len(rest):
                self._compute(rest)
            if len(rest) < len(part):
                self.others.add_(part, seen)
                part += lookup.change(codes, part.dtype)
            part[~is_exact] = rest

    def _see(self, z: Float[Tensor, "P D"]) -> Float[Tensor, "P I"]:
        return z if self.expansion is None else torch.cat([z, self.expansion(z).to(z.dtype)], -1)


def _rows(z: Tensor, width: int) -> int:
    """Rows of which `width` numbers each are held at a time."""
    return max(1, (BLOCK if z.device.type == "cpu" else BLOCK_ON_DEVICE) // max(1, width))


class _Units(nn.Module):
    """Units, all of them computed."""

    def __init__(self, weights: FeedForwardWeights) -> None:
        super().__init__()
        self.first = SparseLinear(weights.w1, weights.b1)
        self.second = SparseLinear(weights.w2)
        self.entries = len(weights.w1.values)

    def add_(self, z: Float[Tensor, "P D"], seen: Float[Tensor, "P I"]) -> None:
        """Add to `z` what the units write where they see `seen`."""
        self.second.add_to(z, self._change(seen))

    def _change(self, seen: Float[Tensor, "P I"]) -> Float[Tensor, "P rows"]:
        """What is added to the dimensions that rules write."""
        if self.first.is_dense or self.first.selects:
            return self.second.compact(clip(self.first.compact(seen)))
        # Both products want features as rows, so the wide hidden layer is never turned around.
        hidden = clip(self.first.by_feature(self.first.read(seen).t().contiguous()))
        if self.second.is_dense or self.second.selects:
            return self.second.compact(hidden.t())
        return self.second.by_feature(hidden[self.second.reads]).t()


class Expansion(nn.Module):
    """What rules see of numbers, sets and averages: one-hot features."""

    def __init__(self, weights: ExpansionWeights) -> None:
        super().__init__()
        self.inner = SparseLinear(weights.inner, weights.inner_bias)
        self.outer = SparseLinear(weights.outer, weights.outer_bias)
        self.middle = None
        if weights.middle is not None:
            self.middle = SparseLinear(weights.middle, weights.middle_bias)

    def forward(self, z: Float[Tensor, "P D"]) -> Float[Tensor, "P X"]:
        """The features, in the type of the thresholds."""
        hidden = clip(self.inner.compact(z.to(self.inner.values.dtype)))
        if self.middle is not None:
            hidden = clip(self.middle.compact(hidden))
        return clip(self.outer.compact(hidden))


def clip(x: Tensor) -> Tensor:
    """The clipped ReLU, max(0, min(1, x))."""
    return x.clamp(0, 1)
