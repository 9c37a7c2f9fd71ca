"""A Universal Transformer run fast: one layer, repeated until every position says it is done.

It is made from weights for inference alone: it writes in place, does once what every layer would do
again, and takes shortcuts that the weights' values allow. `encoder` does the same as plain modules.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from espalier.nets.compiled.attention import SelfAttention, Settled
from espalier.nets.compiled.cone import halting_dimensions
from espalier.nets.compiled.feedforward import FeedForward
from espalier.nets.compiled.halting import Finished, Halting
from espalier.nets.compiled.sparse import SparseLinear
from espalier.nets.compiled.weights import Weights
from espalier.shapes import Lengths, Logits, Residual, Tokens, Valid

# Finished sequences are dropped when at most this share of the batch still runs.
SWEEP = 7 / 8


class UniversalEncoder(Halting):
    """Embeddings, one shared layer, an unembedding, and a halting unit."""

    token_embedding: Tensor
    position_embedding: Tensor | None
    decisive: Tensor | None

    def __init__(
        self,
        weights: Weights,
        feedforward: nn.Module | None = None,
        *,
        groups: Sequence[range] = (),
    ) -> None:
        """`groups` as in `FeedForward`."""
        super().__init__(weights)
        self.register_buffer("token_embedding", weights.token_embedding)
        self.register_buffer("position_embedding", weights.position_embedding)
        # Another feed-forward module may write anywhere.
        written = _written(weights) if feedforward is None else None
        constant = None if written is None else _constant(weights, written)
        self.attention = SelfAttention(
            weights.heads, written, constant=constant, causal=weights.causal
        )
        self.feedforward = feedforward or FeedForward(weights.feedforward, groups)
        self.unembedding = SparseLinear(weights.unembedding)
        # Another MLP may read anything.
        decisive = halting_dimensions(weights) if feedforward is None else None
        self.register_buffer("decisive", decisive)

    def embed(self, tokens: Tokens, positions: Tokens | None = None) -> Residual:
        """The residual stream before the first layer; positions count from 0 unless given."""
        z = self.token_embedding[tokens]
        if self.position_embedding is not None and positions is None:
            z = z + self.position_embedding[: tokens.shape[1]]
        elif self.position_embedding is not None:
            z = z + self.position_embedding[positions]
        return z

    def forward(
        self, tokens: Tokens, lengths: Lengths, *, max_layers: int | None = None
    ) -> Finished:
        """Run every sequence until it halts, or for `max_layers`; finished ones are dropped."""
        self.check_length(tokens.shape[1], self.token_embedding.dtype)
        valid = torch.arange(tokens.shape[1], device=tokens.device) < lengths[:, None]
        z = self.embed(tokens)
        finals, layers = z.clone(), torch.zeros_like(lengths)
        halted = torch.zeros_like(lengths, dtype=torch.bool)
        # Row r of z is sequence running[r], until it is done; finished ones are removed in groups.
        running = torch.arange(len(tokens), device=tokens.device)
        alive = torch.ones_like(halted)
        settled, watch, index = self.attention.settle(z, valid), self.watch(self.decisive), 0
        while len(running) and index != max_layers:
            z = self.layer_(z, valid, settled, layers=index)
            index += 1
            done = self.done(z, valid) & alive
            if bool(done.any()):
                rows = running[done]
                finals[rows, : z.shape[1]], layers[rows], halted[rows] = z[done], index, True
                alive = alive & ~done
                if int(alive.sum()) <= SWEEP * len(alive):
                    z, valid, running, settled = self._sweep(alive, z, valid, running, settled)
                    watch.forget()
                    alive = alive[alive]
            if max_layers is None and len(running):
                watch.look(index, z, alive, running)
        rows = running[alive]
        finals[rows, : z.shape[1]], layers[rows] = z[alive], index
        return Finished(self.logits(finals), layers, halted)

    def layer_(
        self, z: Residual, valid: Valid, settled: Settled | None = None, *, layers: int = 0
    ) -> Residual:
        """The residual stream after one layer more than `layers`; `z` itself may be changed."""
        resting = self.resting(z, layers)
        if resting is None:
            return self.update_(self.attention.add_(z, valid, settled))
        return self.update_awake(resting, z, self.attention(z, valid, settled))

    def update_awake(self, resting: Valid | None, z: Residual, attended: Residual) -> Residual:
        """The stream after the MLP sub-layer, which is skipped where a position rests."""
        if resting is None or not bool(resting.any()):
            return self.update_(attended)
        after, awake = z.clone(), ~resting
        after[awake] = self.update_(attended[awake][None])[0]
        return after

    def update_(self, z: Residual) -> Residual:
        """The residual stream after the MLP sub-layer; `z` itself may be changed."""
        if isinstance(self.feedforward, FeedForward):
            return self.feedforward.add_(z)
        added: Tensor = self.feedforward(z)
        return z + added

    def logits(self, z: Residual) -> Logits:
        """The output variable's part of the stream."""
        found: Tensor = self.unembedding(z)
        return found

    def _sweep(
        self, alive: Tensor, z: Tensor, valid: Tensor, running: Tensor, settled: Settled
    ) -> tuple[Tensor, Tensor, Tensor, Settled]:
        """Only the rows that still run, without the padding that none of them needs."""
        valid = valid[alive]
        longest = int(valid.sum(-1).max()) if len(valid) else 0
        kept = self.attention.keep(settled, alive, longest)
        return z[alive][:, :longest].contiguous(), valid[:, :longest], running[alive], kept


def _written(weights: Weights) -> Tensor:
    """The residual dimensions that any head or rule writes."""
    rows = [head.output.rows for head in weights.heads]
    written: Tensor = torch.cat([weights.feedforward.w2.rows, *rows]).unique()
    return written


def _constant(weights: Weights, written: Tensor) -> Tensor:
    """The residual dimensions that hold the same number at every position of every layer."""
    tables = [weights.token_embedding]
    if weights.position_embedding is not None:
        tables.append(weights.position_embedding)
    same = torch.stack([(table == table[0]).all(0) for table in tables]).all(0)
    same[written] = False
    return same.nonzero().flatten()
