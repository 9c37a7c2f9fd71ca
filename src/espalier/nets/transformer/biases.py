"""What attention adds to its logits: relative position biases, and who does not see whom.

E members, B rows, N (and M) positions, H heads, K buckets.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

BUCKETS, FARTHEST = 32, 128  # of relative positions, as in T5
NEVER = -1e9  # as good as minus infinity


def encoder_bias(
    valid: Bool[Tensor, "E B N"], table: Float[Tensor, "E K H"] | None
) -> Float[Tensor, "E B h n N"]:
    """Every position sees all that there is."""
    never = never_unless(valid[:, :, None, None])
    return never if table is None else never + relative_bias(table, valid.shape[2], both_ways=True)


def decoder_bias(
    table: Float[Tensor, "E K H"], size: int, parts: Int[Tensor, "B N"] | None
) -> Float[Tensor, "E b H N N"]:
    """Every position sees those before it, and itself, of its own part."""
    within = seen_within(size, parts, table.device).unsqueeze(2)
    return within + relative_bias(table, size, both_ways=False)


def seen_within(
    size: int, parts: Int[Tensor, "B N"] | None, device: torch.device
) -> Float[Tensor, "1 b N N"]:
    """Who does not see whom in a decoder."""
    within = torch.ones(1, size, size, dtype=torch.bool, device=device).tril()
    if parts is not None:
        within = within & (parts.unsqueeze(2) == parts.unsqueeze(1))
    return never_unless(within.unsqueeze(0))


def mask_across(
    valid: Bool[Tensor, "E B M"], parts: Int[Tensor, "B N"] | None, inputs: int
) -> Float[Tensor, "E B 1 n M"]:
    """Every position sees the input of its own part."""
    seen = valid[:, :, None, None]
    if parts is not None:
        keys = torch.arange(valid.shape[2], device=valid.device)
        seen = seen & (parts[:, None, :, None] == keys // (len(keys) // inputs))
    return never_unless(seen)


def never_unless(allowed: Bool[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """0 where attention is allowed, and as good as minus infinity elsewhere."""
    return torch.zeros(allowed.shape, device=allowed.device).masked_fill(~allowed, NEVER)


def relative_bias(
    table: Float[Tensor, "E K H"], size: int, both_ways: bool
) -> Float[Tensor, "E 1 H N N"]:
    """What is learned for every distance."""
    places = torch.arange(size, device=table.device)
    buckets = bucket(places[None, :] - places[:, None], both_ways=both_ways)
    chosen = one_hot(buckets, BUCKETS, table.dtype) @ table[:, None]
    # Made contiguous: fused attention refuses biases in which heads are the nearest numbers.
    return chosen.permute(0, 3, 1, 2).unsqueeze(1).float().contiguous()


def bucket(offsets: Int[Tensor, "N M"], *, both_ways: bool) -> Int[Tensor, "N M"]:
    """T5's buckets of j - i: near ones apart, far ones in groups that grow geometrically."""
    distance = offsets.abs() if both_ways else (-offsets).clamp(min=0)
    first, *edges = EDGES[both_ways]
    far = sum((distance >= edge).long() for edge in edges)
    side = (offsets > 0) * (BUCKETS // 2) if both_ways else 0
    return side + torch.where(distance < first, distance, first + far)


def _edges(buckets: int) -> list[int]:
    """The least distance of every bucket that has more than one.

    In whole numbers: logarithms round, and one device's would not be another's.
    """
    near = buckets // 2
    far = buckets - near
    return [
        next(d for d in range(near, FARTHEST) if d**far * near**n >= FARTHEST**n * near**far)
        for n in range(far)
    ]


EDGES = {False: _edges(BUCKETS), True: _edges(BUCKETS // 2)}


def one_hot(codes: Int[Tensor, "*any"], size: int, dtype: torch.dtype) -> Float[Tensor, "*any S"]:
    """1 at each code and 0 elsewhere; without synchronising with the host."""
    return (codes.unsqueeze(-1) == torch.arange(size, device=codes.device)).to(dtype)
