"""A Universal Transformer encoder: one layer, repeated until every position says it is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from espalier.axes import Lengths, Logits, Residual, Tokens, Valid
from espalier.errors import ProgramError
from espalier.nets.attention import SelfAttention
from espalier.nets.feedforward import FeedForward
from espalier.nets.sparse import SparseLinear
from espalier.nets.weights import Weights

# A sequence that has run this long without halting is watched for a state that comes back.
WATCH_FROM = 1024

# Sees, for each layer, the stream after attention and after the MLP, and which rows still run.
Observer = Callable[[int, Tensor, Tensor, Tensor], None]


@dataclass(frozen=True)
class Finished:
    """What an encoder answers: logits, and after how many layers each sequence stopped."""

    logits: Tensor  # B x N x O
    layers: Tensor  # B
    halted: Tensor  # B


class UniversalEncoder(nn.Module):
    """Embeddings, one shared layer, an unembedding, and a halting unit."""

    token_embedding: Tensor
    position_embedding: Tensor | None

    def __init__(self, weights: Weights, feedforward: nn.Module | None = None) -> None:
        super().__init__()
        self.register_buffer("token_embedding", weights.token_embedding)
        self.register_buffer("position_embedding", weights.position_embedding)
        self.attention = SelfAttention(weights.heads)
        self.feedforward = feedforward or FeedForward(weights.feedforward)
        self.unembedding = SparseLinear(weights.unembedding)
        self.halt, self.longest = weights.halt, weights.longest

    def embed(self, tokens: Tokens) -> Residual:
        """The residual stream before the first layer."""
        z = self.token_embedding[tokens]
        if self.position_embedding is not None:
            z = z + self.position_embedding[: tokens.shape[1]]
        return z

    def done(self, z: Residual, valid: Valid) -> Tensor:
        """For each sequence, whether all its positions have halted."""
        if self.halt is None:
            return torch.zeros(len(z), dtype=torch.bool, device=z.device)
        return ((z[..., self.halt.dimension] > 0.5) | ~valid).all(-1)

    def forward(
        self,
        tokens: Tokens,
        lengths: Lengths,
        *,
        max_layers: int | None = None,
        observe: Observer | None = None,
    ) -> Finished:
        """Run every sequence until it halts, or for `max_layers`; finished ones are dropped."""
        self._check_length(tokens.shape[1])
        valid = torch.arange(tokens.shape[1], device=tokens.device) < lengths[:, None]
        z, running = self.embed(tokens), torch.arange(len(tokens), device=tokens.device)
        finals, layers = z.clone(), torch.zeros_like(lengths)
        halted = torch.zeros_like(lengths, dtype=torch.bool)
        watched, index = z, 0
        while len(running) and index != max_layers:
            index += 1
            attended = self.attention(z, valid)
            z = self.feedforward(attended)
            if observe is not None:
                observe(index, attended, z, running)
            done = self.done(z, valid)
            if bool(done.any()):
                rows = running[done]
                finals[rows, : z.shape[1]] = z[done]
                layers[rows], halted[rows] = index, True
                z, valid, running, watched = (x[~done] for x in (z, valid, running, watched))
                z, valid, watched = _trim(z, valid, watched)
            if max_layers is None and index >= WATCH_FROM and len(running):
                self._refuse_endless(index, z, watched, running)
                watched = z if index & (index - 1) == 0 else watched
        finals[running, : z.shape[1]], layers[running] = z, index
        return Finished(self.logits(finals), layers, halted)

    def logits(self, z: Residual) -> Logits:
        """The output variable's part of the stream."""
        return self.unembedding(z)

    def _check_length(self, length: int) -> None:
        if self.longest is not None and length > self.longest:
            raise ProgramError(
                f"the input has {length} positions; with {self.token_embedding.dtype} a head of "
                f"this model can tell a unanimous average from others over {self.longest} "
                "positions at most: compile with a wider dtype"
            )

    def _refuse_endless(self, index: int, z: Tensor, watched: Tensor, running: Tensor) -> None:
        again = (z == watched).flatten(1).all(-1)
        if index > WATCH_FROM and bool(again.any()):
            raise ProgramError(
                f"row {int(running[again][0])} of the batch never halts: its state came back by "
                f"layer {index}; give max_layers to stop it"
            )


def _trim(*padded: Tensor) -> tuple[Tensor, ...]:
    """Cut the padding that no remaining sequence needs; the second tensor marks what is valid."""
    valid = padded[1]
    longest = int(valid.sum(-1).max()) if len(valid) else 0
    return tuple(x[:, :longest] for x in padded)
