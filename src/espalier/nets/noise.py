"""Chance as a function of (seed, step, place), not of a generator's history.

So each member of an ensemble draws what it would draw alone, a resumed run draws what the
uninterrupted one did, a captured CUDA graph needs no generator, and every device agrees.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from espalier.nets.fusion import fused

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
        places = _places(values[0].numel(), self.seeds)
        uniform = _bits(self.seeds, self.step, places, place=place)
        kept = uniform >= (self.rates * 2**24).long().unsqueeze(1)
        scales = kept.to(values.dtype) / (1.0 - self.rates.to(values.dtype)).unsqueeze(1)
        return values * scales.view_as(values)


@dataclass(frozen=True)
class Dice:
    """What members draw in one training step, or each in its own, by their seeds."""

    seeds: Int[Tensor, " E"]
    step: Int[Tensor, "*E"]

    def uniforms(self, place: int, count: int) -> Float[Tensor, "E count"]:
        """Numbers between 0 and 1, both excluded."""
        return (self._bits(place, count).float() + 0.5) * 2.0**-24

    def gaussians(self, place: int, count: int) -> Float[Tensor, "E count"]:
        """Normal numbers, by the transformation of Box and Muller."""
        radius = (-2 * self.uniforms(2 * place, count).log()).sqrt()
        return radius * (2 * math.pi * self.uniforms(2 * place + 1, count)).cos()

    def choices(self, place: int, count: int, below: Int[Tensor, " E"]) -> Int[Tensor, "E count"]:
        """Whole numbers from 0 to each member's `below`, which is excluded, all as likely."""
        return (self._bits(place, count) * below.unsqueeze(1)) >> 24

    def _bits(self, place: int, count: int) -> Int[Tensor, "E count"]:
        places = _places(count, self.seeds)
        return fused(_bits, self.seeds)(self.seeds, self.step, places, place=place)


def _places(count: int, like: Tensor) -> Int[Tensor, " count"]:
    """Numbers far apart, one for each draw.

    Not to be compiled: the compiler would have multiples of a count in 32 bits.
    """
    return torch.arange(count, device=like.device) * _GOLDEN


def _bits(
    seeds: Int[Tensor, " E"], step: Int[Tensor, "*E"], places: Int[Tensor, " count"], *, place: int
) -> Int[Tensor, "E count"]:
    """Numbers of 24 bits, which float32 holds exactly."""
    start = mix(mix(seeds + mix(seeds.new_full((), place + 1))) + step)
    return (mix(start.unsqueeze(1) + places) >> 40) & 0xFFFFFF


def mix(bits: Int[Tensor, "*any"]) -> Int[Tensor, "*any"]:
    """A well-stirred 64-bit number for each number."""
    bits = (bits ^ _shift(bits, 30)) * _FIRST
    bits = (bits ^ _shift(bits, 27)) * _SECOND
    return bits ^ _shift(bits, 31)


def _shift(bits: Int[Tensor, "*any"], places: int) -> Int[Tensor, "*any"]:
    """Shift right and fill with zeros; torch's own shift fills with the sign."""
    return (bits >> places) & ((1 << (64 - places)) - 1)
