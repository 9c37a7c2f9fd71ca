"""A textbook Transformer: embeddings, blocks of softmax attention and a ReLU MLP, an unembedding.

It knows nothing of programs and has no normalisation. A token of its own precedes every sequence,
so that a head that finds nothing has a place to attend to.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from espalier.shapes import Logits, Residual, Tokens


@dataclass(frozen=True)
class PlainConfig:
    """Sizes, in the words of other libraries, and what the parts are called.

    `d_vocab` counts two tokens more than the program has: padding and then the beginning.
    `plan[i]` says which weights block i has: blocks of one number share their parameters.
    """

    d_model: int
    n_heads: int
    d_head: int
    d_mlp: int
    d_vocab: int
    d_vocab_out: int
    n_ctx: int  # the beginning included
    plan: tuple[int, ...]
    causal: bool = False
    residual_labels: tuple[str, ...] = ()
    head_labels: tuple[str, ...] = ()
    token_labels: tuple[str, ...] = ()
    output_labels: tuple[str, ...] = ()
    block_labels: tuple[str, ...] = ()

    @property
    def pad_id(self) -> int:
        """The token that no head looks at."""
        return self.d_vocab - 2

    @property
    def bos_id(self) -> int:
        """The token before every sequence."""
        return self.d_vocab - 1


class PlainAttention(nn.Module):
    """Multi-head attention without a scale; `softmax` is a module, so that hooks see patterns."""

    def __init__(self, config: PlainConfig) -> None:
        super().__init__()
        width = config.n_heads * config.d_head
        self.n_heads, self.causal = config.n_heads, config.causal
        self.query = nn.Linear(config.d_model, width)
        self.key = nn.Linear(config.d_model, width)
        self.value = nn.Linear(config.d_model, width, bias=False)
        self.softmax = nn.Softmax(-1)
        self.output = nn.Linear(width, config.d_model, bias=False)

    def forward(self, x: Residual) -> Residual:
        """What the heads add to the stream."""
        query, key, value = (
            part.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
            for part in (self.query(x), self.key(x), self.value(x))
        )
        scores = query @ key.transpose(-1, -2)
        if self.causal:
            later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
            scores = scores.masked_fill(later, -torch.inf)
        carried = self.softmax(scores) @ value
        added: Tensor = self.output(carried.transpose(1, 2).flatten(-2))
        return added


class PlainMLP(nn.Module):
    """Two linear maps around a ReLU."""

    def __init__(self, config: PlainConfig) -> None:
        super().__init__()
        self.first = nn.Linear(config.d_model, config.d_mlp)
        self.relu = nn.ReLU()
        self.second = nn.Linear(config.d_mlp, config.d_model, bias=False)

    def forward(self, x: Residual) -> Residual:
        """What the units add to the stream."""
        added: Tensor = self.second(self.relu(self.first(x)))
        return added


class PlainBlock(nn.Module):
    """x + attn(x), then x + mlp(x)."""

    def __init__(self, config: PlainConfig) -> None:
        super().__init__()
        self.attn, self.mlp = PlainAttention(config), PlainMLP(config)

    def forward(self, x: Residual) -> Residual:
        """The stream after both sub-layers."""
        x = x + self.attn(x)
        after: Tensor = x + self.mlp(x)
        return after


class PlainTransformer(nn.Module):
    """tokens (batch, position) -> logits (batch, position, value); short rows end in `pad_id`.

    Made with `CompiledModel.unroll`. Blocks that do the same share their parameters; `untied`
    gives each its own.
    """

    def __init__(self, config: PlainConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.d_vocab, config.d_model)
        self.pos_embed = nn.Embedding(config.n_ctx, config.d_model)
        kinds = [_empty(PlainBlock(config)) for _ in range(max(config.plan, default=-1) + 1)]
        self.blocks = nn.ModuleList(_sharing(kinds[kind], config) for kind in config.plan)
        self.unembed = nn.Linear(config.d_model, config.d_vocab_out, bias=False)

    def forward(self, tokens: Tokens) -> Logits:
        """Logits of the output at every position."""
        first = tokens.new_full((tokens.shape[0], 1), self.config.bos_id)
        logits: Tensor = self.unembed(self.stream(torch.cat([first, tokens], 1)))
        return logits[:, 1:]

    def stream(self, tokens: Tokens) -> Residual:
        """The residual stream after the last block, of tokens that include the beginning."""
        most = self.config.n_ctx
        if tokens.shape[1] > most:
            raise ValueError(
                f"the input has {tokens.shape[1] - 1} positions; this model was unrolled for "
                f"{most - 1} at most"
            )
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x: Tensor = self.embed(tokens) + self.pos_embed(places)
        for block in self.blocks:
            x = block(x)
        return x

    @property
    def device(self) -> torch.device:
        """Where the model runs."""
        return self.embed.weight.device

    def pad(self, sequences: Sequence[Sequence[int]]) -> Tokens:
        """Sequences of any lengths as one batch."""
        width = max(map(len, sequences), default=0)
        rows = [[*row, *[self.config.pad_id] * (width - len(row))] for row in sequences]
        return torch.tensor(rows, device=self.device)

    def untied(self) -> PlainTransformer:
        """A copy in which every block has parameters of its own."""
        alone = copy.deepcopy(self)
        alone.blocks = nn.ModuleList(copy.deepcopy(block) for block in self.blocks)
        return alone

    def extra_repr(self) -> str:
        """The sizes."""
        config = self.config
        return f"{config.d_model} dimensions, {config.n_heads} heads, {config.d_mlp} units"


def _empty(block: PlainBlock) -> PlainBlock:
    for parameter in block.parameters():
        nn.init.zeros_(parameter)
    return block


def _sharing(block: PlainBlock, config: PlainConfig) -> PlainBlock:
    """Another block, which hooks can distinguish, with the same parameters."""
    with torch.device("meta"):
        other = PlainBlock(config)
    for name, parameter in block.named_parameters():
        path, _, leaf = name.rpartition(".")
        setattr(other.get_submodule(path), leaf, parameter)
    return other
