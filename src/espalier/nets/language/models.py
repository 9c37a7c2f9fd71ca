"""Language models around an nn.GRU and around an nn.TransformerEncoder, beside the LSTM's.

Their parts have torch's own types, so that anything that reads torch modules reads them. Many at
once are in `nets.language.stacked`, training in `espalier.training`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from espalier.errors import ModelError, nearest
from espalier.nets.language.shapes import Architecture, CausalShape, GRUShape, PositionKind
from espalier.nets.lstm import LanguageModel, LSTMShape, Vocabulary
from espalier.nets.lstm import initialise as initialise_lstm

SPREAD = 0.02  # of a Transformer's first weights, as GPT-2 has it


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
        """Logits for the token after each token, and the state to go on from."""
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


def build(shape: LSTMShape, *, vocabulary: Vocabulary | None = None) -> AnyModel:
    """A model of a shape, with torch's own first weights."""
    match shape:
        case CausalShape():
            return CausalTransformer(shape, vocabulary=vocabulary)
        case GRUShape():
            return GRUModel(shape, vocabulary=vocabulary)
    return LanguageModel(shape, vocabulary=vocabulary)


def shape_of(architecture: Architecture, sizes: dict[str, Any]) -> LSTMShape:
    """The shape of an architecture; sizes that it has no use for are refused by name."""
    kinds = {"lstm": LSTMShape, "gru": GRUShape, "transformer": CausalShape}
    if architecture not in kinds:
        raise ModelError(f"architecture is {architecture!r}; {nearest(architecture, kinds)}")
    kind = kinds[architecture]
    unknown = sorted(set(sizes) - set(kind.__dataclass_fields__))
    if unknown:
        raise ModelError(f"a model of architecture {architecture!r} has no {', '.join(unknown)}")
    return kind(**sizes)


def language_model(
    *,
    vocabulary_size: int,
    hidden: int,
    layers: int = 1,
    seed: int = 0,
    architecture: Architecture = "lstm",
    words: Sequence[str] | Vocabulary | None = None,
    **more: int | float | bool | str | PositionKind | None,
) -> AnyModel:
    """A new language model; the seed decides its weights, whatever was drawn before.

    `more` are `embedding`, `tied` and `dropout`; of a Transformer also `heads`, `longest` and
    `positions` ("learned" or "sinusoidal").

    >>> import espalier as es
    >>> model = es.language_model(vocabulary_size=9, hidden=4, seed=1)
    >>> model.states(torch.tensor([[1, 2, 3]])).cell.shape  # layers, batch, time, hidden
    torch.Size([1, 1, 3, 4])
    >>> es.language_model(vocabulary_size=9, hidden=4, architecture="gru").rnn
    GRU(4, 4, batch_first=True)
    """
    sizes = {"vocabulary_size": vocabulary_size, "hidden": hidden, "layers": layers} | more
    vocabulary = None if words is None else Vocabulary.of(words)
    return initialise(build(shape_of(architecture, sizes), vocabulary=vocabulary), seed)


def initialise(model: AnyModel, seed: int) -> AnyModel:
    """Draw fresh weights: of a GRU as of an LSTM; of a Transformer as GPT-2 does.

    That is normal with 0.02, what writes into the stream divided by the root of the number of
    sub-layers; biases 0, norms 1.
    """
    if isinstance(model, LanguageModel | GRUModel):
        return initialise_lstm(model, seed)  # type: ignore[arg-type]
    generator = torch.Generator().manual_seed(seed)
    writes = SPREAD / math.sqrt(2 * model.shape.layers)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1:
                parameter.fill_(1.0 if "norm" in name and name.endswith("weight") else 0.0)
                continue
            spread = writes if name.endswith(("out_proj.weight", "linear2.weight")) else SPREAD
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * spread)
    return model
