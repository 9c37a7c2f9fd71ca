"""Language models around an nn.GRU and around an nn.TransformerEncoder.

Their parts have torch's own types, so that anything that reads torch modules reads them. Many at
once are in `nets.language.stacked`, training in `espalier.training`.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from espalier.errors import ModelError
from espalier.nets.language.shapes import CausalShape, GRUShape
from espalier.nets.lstm import LanguageModel, LSTMShape, Vocabulary


class GRUModel(nn.Module):
    """`encoder` (nn.Embedding), `rnn` (nn.GRU, batch first) and `decoder` (nn.Linear).

    >>> logits, state = GRUModel(GRUShape(vocabulary_size=9, hidden=4))(torch.tensor([[1, 2, 3]]))
    >>> logits.shape, state.shape
    (torch.Size([1, 3, 9]), torch.Size([1, 1, 4]))
    """

    def __init__(self, shape: GRUShape, *, vocabulary: Vocabulary | None = None) -> None:
        super().__init__()
        self.shape, self.vocabulary = shape, checked_vocabulary(shape, vocabulary)
        between = shape.dropout if shape.layers > 1 else 0.0
        self.encoder = nn.Embedding(shape.vocabulary_size, shape.width)
        self.rnn = nn.GRU(
            shape.width, shape.hidden, shape.layers, batch_first=True, dropout=between
        )
        self.decoder = nn.Linear(shape.hidden, shape.vocabulary_size)
        self.dropout = nn.Dropout(shape.dropout)
        if shape.tied:
            self.decoder.weight = self.encoder.weight

    def forward(
        self, tokens: Int[Tensor, "B N"], state: Float[Tensor, "L B H"] | None = None
    ) -> tuple[Float[Tensor, "B N V"], Float[Tensor, "L B H"]]:
        """Logits for the token after each token, and the state to continue from."""
        hidden, state = self.rnn(self.dropout(self.encoder(tokens)), state)
        return self.decoder(self.dropout(hidden)), state


class CausalTransformer(nn.Module):
    """`encoder` (nn.Embedding), positions, `body` (nn.TransformerEncoder, norms first), `decoder`.

    Dropout is of the embedding and of what each sub-layer adds to the stream.

    >>> model = CausalTransformer(CausalShape(vocabulary_size=9, hidden=4, heads=2))
    >>> model(torch.tensor([[1, 2, 3]]))[0].shape
    torch.Size([1, 3, 9])
    """

    def __init__(self, shape: CausalShape, *, vocabulary: Vocabulary | None = None) -> None:
        super().__init__()
        self.shape, self.vocabulary = shape, checked_vocabulary(shape, vocabulary)
        self.encoder = nn.Embedding(shape.vocabulary_size, shape.hidden)
        if shape.positions == "learned":
            self.positions = nn.Embedding(shape.longest, shape.hidden)
        layer = nn.TransformerEncoderLayer(
            shape.hidden, shape.heads, 4 * shape.hidden, shape.dropout,
            activation="gelu", batch_first=True, norm_first=True,
        )  # fmt: skip
        layer.self_attn.dropout, layer.dropout = 0.0, nn.Dropout(0.0)
        # Not torch's fast path: on CUDA it has another GELU than training has.
        layer.activation_relu_or_gelu = 0
        norm = nn.LayerNorm(shape.hidden)
        self.body = nn.TransformerEncoder(layer, shape.layers, norm, enable_nested_tensor=False)
        self.decoder = nn.Linear(shape.hidden, shape.vocabulary_size)
        self.dropout = nn.Dropout(shape.dropout)
        if shape.tied:
            self.decoder.weight = self.encoder.weight

    def forward(
        self, tokens: Int[Tensor, "B N"], state: None = None
    ) -> tuple[Float[Tensor, "B N V"], None]:
        """Logits for the token after each token; nothing is carried over."""
        size, like = tokens.shape[1], self.encoder.weight
        check_length(self.shape, size)
        table = self.positions.weight if self.shape.positions == "learned" else None
        places = position_rows(self.shape, table, size, like)
        hidden = self.body(
            self.dropout(self.encoder(tokens) + places),
            mask=nn.Transformer.generate_square_subsequent_mask(size, like.device, like.dtype),
            is_causal=True,
        )
        return self.decoder(hidden), state


AnyModel = LanguageModel | GRUModel | CausalTransformer


def check_length(shape: CausalShape, size: int) -> None:
    """Refuse more tokens than there are positions for."""
    if size > shape.longest:
        raise ModelError(f"there are {size} tokens; this Transformer reads {shape.longest} at once")


def position_rows(
    shape: CausalShape, table: Float[Tensor, "*E longest D"] | None, size: int, like: Tensor
) -> Float[Tensor, "*E N D"]:
    """What is added to the first `size` embeddings: rows of the table, or waves."""
    if table is not None:
        return table[..., :size, :]
    half = shape.hidden // 2
    pace = torch.exp(torch.arange(half, device=like.device) * (-math.log(10_000.0) / half))
    angles = torch.arange(size, device=like.device)[:, None] * pace
    return torch.cat([angles.sin(), angles.cos()], dim=-1).to(like.dtype)


def checked_vocabulary(shape: LSTMShape, vocabulary: Vocabulary | None) -> Vocabulary | None:
    """The words, if there are as many as the shape has."""
    if vocabulary is not None and len(vocabulary) != shape.vocabulary_size:
        raise ModelError(
            f"the vocabulary has {len(vocabulary)} words, but vocabulary_size is "
            f"{shape.vocabulary_size}; they must agree"
        )
    return vocabulary
