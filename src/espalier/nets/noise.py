"""Dropout whose masks are a function of (seed, step, place), not of a generator's history.

So each member of an ensemble drops what it would drop alone, a resumed run drops what the
uninterrupted one did, a captured CUDA graph needs no generator, and every device agrees.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

# The finaliser of splitmix64 (Steele et al. 2014), in signed arithmetic that wraps.
_FIRST, _SECOND = -4658895280553007687, -7723592293110705685  # 0xbf58476d1ce4e5b9, 0x94d0...
_GOLDEN = -7046029254386353131  # 0x9e3779b97f4a7c15


@dataclass(frozen=True)
class Noise:
    """Masks of one training step for all members: a share `rates` dropped, the rest scaled up."""

    rates: Float[Tensor, " E"]
    seeds: Int[Tensor, " E"]
    step: Int[Tensor, ""]

    def drop(self, values: Float[Tensor, "E N B D"], place: int) -> Float[Tensor, "E N B D"]:
        """The values with a share of them set to zero, the rest divided by what is kept."""
        start = mix(mix(self.seeds + mix(self.seeds.new_full((), place + 1))) + self.step)
        each = torch.arange(values[0].numel(), device=values.device)
        bits = mix(start.unsqueeze(1) + each * _GOLDEN)
        uniform = (bits >> 40) & 0xFFFFFF  # 24 bits: exact in float32
        kept = uniform >= (self.rates * 2**24).long().unsqueeze(1)
        scales = kept.to(values.dtype) / (1.0 - self.rates.to(values.dtype)).unsqueeze(1)
        return values * scales.view_as(values)


def mix(bits: Int[Tensor, "*any"]) -> Int[Tensor, "*any"]:
    """A well-stirred 64-bit number for each number."""
    bits = (bits ^ _shift(bits, 30)) * _FIRST
    bits = (bits ^ _shift(bits, 27)) * _SECOND
    return bits ^ _shift(bits, 31)


def _shift(bits: Int[Tensor, "*any"], places: int) -> Int[Tensor, "*any"]:
    """Shift right and fill with zeros; torch's own shift fills with the sign."""
    return (bits >> places) & ((1 << (64 - places)) - 1)
