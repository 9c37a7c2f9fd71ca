"""Keys and values of the positions of a causal network that were computed already.

Buffers are as wide as there is room for positions, which doubles when it is full; a pattern that
looks only a little way back has a ring of that width, position p in place p % width. Letters as
in `axes`, with M the new positions of a batch.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import pad

from espalier.nets.compiled.attention import Pattern, shift
from espalier.nets.compiled.sparse import at_least_float32
from espalier.shapes import Lengths


@dataclass(frozen=True)
class Fresh:
    """Where the new positions of a batch lie: `starts` is the number of those before them."""

    starts: Lengths
    positions: Int[Tensor, "B M"]
    valid: Bool[Tensor, "B M"]
    longest: int  # the largest of `starts`
    _stored: dict[int, tuple[Tensor, Tensor, Tensor]] = field(default_factory=dict)

    @staticmethod
    def after(starts: Lengths, counts: Lengths, width: int) -> Fresh:
        """The next `counts` positions of each row, padded to `width`."""
        steps = torch.arange(width, device=starts.device)
        valid = steps < counts[:, None]
        return Fresh(starts, starts[:, None] + steps, valid, int(starts.max()))

    def stored(self, width: int) -> tuple[Tensor, Tensor, Tensor]:
        """Rows, columns and places of the new positions that a cache of `width` holds."""
        if width not in self._stored:
            ends = self.starts + self.valid.sum(-1)
            last = self.valid & (self.positions >= ends[:, None] - width)
            rows, columns = last.nonzero(as_tuple=True)
            self._stored[width] = rows, columns, self.positions[rows, columns] % width
        return self._stored[width]


@dataclass(frozen=True)
class Block:
    """The keys and values of the new positions, for one pattern in one layer."""

    key: Float[Tensor, "B M K"] | None
    value: Float[Tensor, "B M W"]


@dataclass
class Kept:
    """The keys and values of one pattern in one layer.

    A settled pattern computes its weights in the first layer only; deeper ones have no keys.
    """

    key: Float[Tensor, "B width K"] | None
    value: Float[Tensor, "B width W"]

    @staticmethod
    def empty(pattern: Pattern, rows: int, room: int) -> Kept:
        """No positions yet."""
        width = room if pattern.reach is None else pattern.reach
        like = pattern.value.values
        return Kept(
            like.new_zeros(rows, width, pattern.key.height),
            like.new_zeros(rows, width, pattern.value.height),
        )

    def block(self, pattern: Pattern, z: Float[Tensor, "B M D"]) -> Block:
        """The entries to cache for the stream at new positions."""
        return Block(None if self.key is None else pattern.key(z), pattern.value(z))

    def store(self, block: Block, fresh: Fresh) -> None:
        """Cache the new positions as well, the last ones if there is not room for all."""
        width = self.value.shape[1]
        if not width:
            return
        rows, columns, places = fresh.stored(width)
        self.value[rows, places] = block.value[rows, columns]
        if self.key is not None and block.key is not None:
            self.key[rows, places] = block.key[rows, columns]

    def deeper(self, pattern: Pattern) -> Kept:
        """The same for the next layer, where earlier positions have changed no more."""
        key = None if self.key is None or pattern.is_settled else self.key.clone()
        return Kept(key, self.value.clone())

    def keep(self, rows: Bool[Tensor, " B"]) -> Kept:
        """Some rows of the batch."""
        return Kept(None if self.key is None else self.key[rows], self.value[rows])

    def widened(self, room: int) -> Kept:
        """The same with room for more positions."""
        more = (0, 0, 0, room - self.value.shape[1])
        return Kept(None if self.key is None else pad(self.key, more), pad(self.value, more))


def weigh(
    pattern: Pattern, z: Float[Tensor, "B M D"], block: Block, fresh: Fresh, kept: Kept
) -> Float[Tensor, "B M places"]:
    """How much each new position attends to cached and new ones, or to each relative position."""
    assert block.key is not None
    query = at_least_float32(pattern.query(z))
    way = _weigh_near if pattern.is_near else _weigh_all
    return way(pattern, query, block.key, fresh, kept)


def carry(
    pattern: Pattern,
    weights: Float[Tensor, "B M places"],
    block: Block,
    fresh: Fresh,
    kept: Kept,
) -> Float[Tensor, "B M rows"]:
    """What the heads of `pattern` add at the new positions to the dimensions that they write."""
    if pattern.is_near:
        parts = [
            weights[..., place, None] * _beside(block.value, kept.value, fresh, offset)
            for place, offset in enumerate(pattern.offsets)
        ]
        carried = torch.stack(parts).sum(0) if len(parts) > 1 else parts[0]
    else:
        past, own = weights[..., : fresh.longest], weights[..., fresh.longest :]
        carried = past @ kept.value[:, : fresh.longest].to(weights.dtype)
        carried = carried + own @ block.value.to(weights.dtype)
    return pattern.write(carried, weights, block.value.dtype)


def _weigh_all(
    pattern: Pattern,
    query: Float[Tensor, "B M K"],
    key: Float[Tensor, "B M K"],
    fresh: Fresh,
    kept: Kept,
) -> Float[Tensor, "B M places"]:
    """Weights over all cached positions, and then over the new ones."""
    assert kept.key is not None
    old = torch.arange(fresh.longest, device=query.device)
    past = query @ at_least_float32(kept.key[:, : fresh.longest]).transpose(1, 2)
    past = pattern.masked(past, old - fresh.positions[..., None])
    past = past.masked_fill((old >= fresh.starts[:, None])[:, None, :], -torch.inf)
    own = query @ at_least_float32(key).transpose(1, 2)
    own = pattern.masked(own, fresh.positions[:, None, :] - fresh.positions[..., None])
    return pattern.soften(torch.cat([past, own], -1))


def _weigh_near(
    pattern: Pattern,
    query: Float[Tensor, "B M K"],
    key: Float[Tensor, "B M K"],
    fresh: Fresh,
    kept: Kept,
) -> Float[Tensor, "B M places"]:
    """Weights over the few relative positions."""
    assert kept.key is not None
    logits = []
    for offset in pattern.offsets:
        there = at_least_float32(_beside(key, kept.key, fresh, offset))
        logits.append(pattern.logit_near(query, there, fresh.positions + offset >= 0, offset))
    return pattern.soften(torch.stack(logits, -1))


def _beside(
    new: Float[Tensor, "B M X"], old: Float[Tensor, "B width X"], fresh: Fresh, offset: int
) -> Float[Tensor, "B M X"]:
    """What lies `offset` (0 or less) to the right of each new position."""
    there = shift(new, offset)
    # The first new positions look back beyond the block.
    beyond = min(-offset, new.shape[1])
    if beyond:
        places = (fresh.positions[:, :beyond] + offset) % old.shape[1]
        rows = torch.arange(len(new), device=new.device)[:, None]
        there[:, :beyond] = old[rows, places]
    return there
