"""The compiled Transformer as an ordinary module, layer by layer.

It computes the same as `UniversalEncoder`, which is made from its weights and runs in its place as
long as there are no hooks; its sub-layers are in `modules`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from espalier.errors import ModelError
from espalier.nets.compiled.halting import Finished, Halting, hold
from espalier.nets.compiled.modules import (
    MLP,
    Attention,
    AttentionHead,
    EntriesLinear,
    Expansion,
    parameter,
)
from espalier.nets.compiled.records import on_cpu
from espalier.nets.compiled.universal import UniversalEncoder
from espalier.nets.compiled.watching import Watch, walk
from espalier.nets.compiled.weights import Weights
from espalier.shapes import Lengths, Logits, Residual, Tokens, Valid


class CompiledEncoder(Halting):
    """Embeddings, one shared layer of `attention` and `mlp`, an unembedding, and halting.

    `mlp` may be another module than the compiled one; it gives what is added to the stream.
    """

    def __init__(
        self, weights: Weights, heads: Iterable[str], *, mlp: nn.Module | None = None
    ) -> None:
        super().__init__(weights)
        direction = self.__dict__["_buffers"].pop("halt_direction")
        self.halt_direction = None if direction is None else parameter(direction)
        named = dict(zip(heads, weights.heads, strict=True))
        positions = weights.position_embedding
        self.token_embedding = _embedding(weights.token_embedding)
        self.position_embedding = None if positions is None else _embedding(positions)
        self.attention = Attention(named, causal=weights.causal)
        self.mlp = MLP(weights.feedforward) if mlp is None else mlp
        self.unembedding = EntriesLinear(weights.unembedding)
        self._replaced = None if mlp is None else weights.feedforward
        self._watch: Watch | None = None

    def forward(
        self, tokens: Tokens, lengths: Lengths, *, max_layers: int | None = None
    ) -> Finished:
        """Run every sequence until it halts, or for `max_layers`."""
        self.check_length(tokens.shape[1], self.token_embedding.weight.dtype)
        z, valid = self.embed(tokens), is_valid(tokens, lengths)
        layers = torch.zeros_like(lengths)
        halted = torch.zeros_like(lengths, dtype=torch.bool)
        watch, index = self.watch(), 0
        while index != max_layers and not bool(halted.all()):
            layers = layers + ~halted
            z, halted = self.step(z, valid, halted, index)
            index += 1
            if max_layers is None:
                watch.look(index, z, ~halted)
        return Finished(self.unembedding(z), layers, halted)

    def embed(self, tokens: Tokens) -> Residual:
        """The residual stream before the first layer."""
        z: Tensor = self.token_embedding(tokens)
        if self.position_embedding is not None:
            z = z + self.position_embedding(torch.arange(tokens.shape[1], device=tokens.device))
        return z

    def step(
        self, z: Residual, valid: Valid, halted: Tensor, layers: int
    ) -> tuple[Residual, Tensor]:
        """The stream after one layer more than `layers`, and which sequences have halted by then.

        A sequence that had halted before stays as it is.
        """
        resting = self.resting(z, layers)
        attended = z + self.attention(z, valid)
        after = hold(resting, z, attended + self.mlp(attended))
        after = torch.where(halted[:, None, None], z, after)
        return after, halted | self.done(after, valid)

    @property
    def weights(self) -> Weights:
        """The weights as they are now, as plain data that shares the parameters' memory.

        In place of an MLP that is not compiled there is the one that it stands for.
        """
        self._refuse_replaced()
        positions, mlp = self.position_embedding, self.mlp
        feedforward = mlp.weights if isinstance(mlp, MLP) else self._replaced
        assert feedforward is not None
        direction = None if self.halt_direction is None else self.halt_direction.detach()
        return Weights(
            token_embedding=self.token_embedding.weight.detach(),
            position_embedding=None if positions is None else positions.weight.detach(),
            heads=tuple(self.attention.head(name).weights for name in self.attention.names),
            feedforward=feedforward,
            unembedding=self.unembedding.sparse,
            halt=self.halt and replace(self.halt, direction=direction),
            longest=self.longest,
            why=self.why,
            causal=self.causal,
        )

    def fast(self, groups: Sequence[range] = ()) -> UniversalEncoder:
        """The same network, made for speed from the weights as they are now; `groups` as there."""
        mlp = None if isinstance(self.mlp, MLP) else self.mlp
        fast = UniversalEncoder(on_cpu(self.weights), mlp, groups=groups)
        return fast.to(self.token_embedding.weight.device)

    def numbers(self) -> Tensor | None:
        """All parameters in a row; None where only calling the modules shows what they do."""
        if self._watch is None or not self._watch.is_current:
            self._watch = Watch(self, apart=None if self._replaced is None else self.mlp)
        if self._watch.is_heard or self._watch.types - _OWN:
            return None
        return self._watch.numbers()

    @property
    def is_own(self) -> bool:
        """Whether every module is as compiled, so that the weights say everything."""
        return all(type(module) in _OWN for module in walk(self))

    def __getstate__(self) -> dict[str, object]:
        """Everything but cached look-ups."""
        return vars(self) | {"_watch": None}

    def _refuse_replaced(self) -> None:
        for name, module in self.named_modules():
            if type(module) not in _OWN and (self._replaced is None or name[:3] != "mlp"):
                raise ModelError(
                    f"encoder.{name} was replaced by a {type(module).__name__}, which has no "
                    f"place among the weights of a compiled model; call the model itself"
                )


class FixedDepth(nn.Module):
    """A compiled network run for a fixed number of layers, without a branch on what it computes.

    It shares its parameters with the encoder, and can be exported, vmapped and differentiated. A
    sequence that halts earlier stays as it is from then on.
    """

    def __init__(self, encoder: CompiledEncoder, layers: int) -> None:
        super().__init__()
        self.encoder, self.layers = encoder, layers

    def forward(self, tokens: Tokens, lengths: Lengths | None = None) -> Logits:
        """Logits of the output variable for a padded batch."""
        encoder = self.encoder
        encoder.check_length(tokens.shape[1], encoder.token_embedding.weight.dtype)
        valid = torch.ones_like(tokens, dtype=torch.bool)
        if lengths is not None:
            valid = is_valid(tokens, lengths)
        z, halted = encoder.embed(tokens), torch.zeros_like(valid[:, 0])
        for index in range(self.layers):
            z, halted = encoder.step(z, valid, halted, index)
        logits: Tensor = encoder.unembedding(z)
        return logits

    def extra_repr(self) -> str:
        """How many layers."""
        return f"layers={self.layers}"


def is_valid(tokens: Tokens, lengths: Lengths) -> Valid:
    """Where a padded batch holds tokens."""
    return torch.arange(tokens.shape[1], device=tokens.device) < lengths[:, None]


def _embedding(table: Tensor) -> nn.Embedding:
    rows, width = table.shape
    return nn.Embedding(rows, width, _weight=table.detach().clone())


_OWN = frozenset(
    (CompiledEncoder, MLP, Attention, AttentionHead, EntriesLinear, Expansion, nn.Embedding)
)
