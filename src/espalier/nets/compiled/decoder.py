"""A causal network run on a batch that grows: each position is computed once, with a cache."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from espalier.nets.compiled.attention import Settled
from espalier.nets.compiled.cache import Fresh, Kept, carry, weigh
from espalier.nets.compiled.halting import WATCH_FROM
from espalier.nets.compiled.universal import UniversalEncoder
from espalier.shapes import Lengths, Residual, Tokens

# Room for this many positions is made at first; when it is full it is doubled.
ROOM = 64


class CachedDecoder:
    """A causal encoder that continues from its cached positions.

    Layer k + 1 of a new position attends to earlier ones as they were after k layers: `_kept[k]`,
    one cache per pattern. A position that has halted is the same in all deeper ones.
    """

    def __init__(self, encoder: UniversalEncoder, rows: int, *, max_layers: int | None) -> None:
        self._encoder, self._max_layers = encoder, max_layers
        self._ends = torch.zeros(rows, dtype=torch.long, device=encoder.token_embedding.device)
        self._kept: list[list[Kept]] = []
        self._room = ROOM

    def extend(
        self, tokens: Tokens, counts: Lengths
    ) -> tuple[Float[Tensor, "B O"], Int[Tensor, " B"]]:
        """Logits at each row's last position after `counts` tokens more, and its layers."""
        fresh = Fresh.after(self._ends, counts, tokens.shape[1])
        self._make_room(int((self._ends + counts).max()))
        rows, last = torch.arange(len(tokens), device=tokens.device), counts - 1
        z = self._encoder.embed(tokens, torch.where(fresh.valid, fresh.positions, 0))
        layers, index = torch.zeros_like(counts), 0
        settled: Settled = [None] * len(self._encoder.attention.patterns)
        watch = self._encoder.watch(self._encoder.decisive, max(WATCH_FROM, len(self._kept)))
        resting: Bool[Tensor, "B M"] | None = None
        while index != self._max_layers:
            layers += 1 if resting is None else ~resting[rows, last]
            attended = self._attend(z, fresh, self._at(index), settled)
            z = self._encoder.update_awake(resting, z, attended)
            index += 1
            resting = self._encoder.resting(z, index)
            if resting is not None and bool((resting | ~fresh.valid).all()):
                break
            if self._max_layers is None:
                watch.look(index, z, ~self._encoder.done(z, fresh.valid))
        self._rest(z, fresh, index)
        self._ends = self._ends + counts
        return self._encoder.logits(z[rows, last][:, None])[:, 0], layers

    def keep(self, rows: Bool[Tensor, " B"]) -> None:
        """Continue with some of the rows only."""
        self._ends = self._ends[rows]
        self._kept = [[kept.keep(rows) for kept in layer] for layer in self._kept]

    def _attend(self, z: Residual, fresh: Fresh, layer: list[Kept], settled: Settled) -> Residual:
        """The stream of the new positions after attention; their keys and values are cached."""
        after = z.clone()
        for place, (pattern, kept) in enumerate(
            zip(self._encoder.attention.patterns, layer, strict=True)
        ):
            block = kept.block(pattern, z)
            weights = settled[place]
            if weights is None:
                weights = weigh(pattern, z, block, fresh, kept)
                # What a settled pattern attends to is the same in every layer.
                settled[place] = weights if pattern.is_settled else None
            pattern.output.add_to(after, carry(pattern, weights, block, fresh, kept))
            kept.store(block, fresh)
        return after

    def _rest(self, z: Residual, fresh: Fresh, index: int) -> None:
        """Cache halted positions in the layers that they did not need, but others did."""
        if index < len(self._kept):
            for place, pattern in enumerate(self._encoder.attention.patterns):
                block = self._kept[index][place].block(pattern, z)
                for layer in self._kept[index:]:
                    layer[place].store(block, fresh)

    def _at(self, layer: int) -> list[Kept]:
        if layer == len(self._kept):
            # No position has reached this layer yet: all earlier ones had halted.
            patterns = self._encoder.attention.patterns
            self._kept.append(
                [kept.deeper(p) for kept, p in zip(self._kept[-1], patterns, strict=True)]
                if self._kept
                else [Kept.empty(pattern, len(self._ends), self._room) for pattern in patterns]
            )
        return self._kept[layer]

    def _make_room(self, positions: int) -> None:
        self._encoder.check_length(positions, self._encoder.token_embedding.dtype)
        if positions > self._room:
            self._room = max(positions, 2 * self._room)
            for layer in self._kept:
                for place, pattern in enumerate(self._encoder.attention.patterns):
                    if pattern.reach is None:
                        layer[place] = layer[place].widened(self._room)
