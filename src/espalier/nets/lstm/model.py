"""The LSTM language model: embedding, LSTM, softmax, as in both papers on interdependence.

The forward pass is `nn.LSTM`. What happened inside it, step by step, is given by
`LanguageModel.states`, which unrolls the cell explicitly. Saving and loading are in
`nets.lstm.files`, training in `espalier.training`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from espalier.errors import LARGEST_SEED, ModelError, as_flag, check_seed, check_whole, is_number
from espalier.nets.lstm.cell import LSTMLayer, LSTMStates, unroll
from espalier.nets.lstm.vocabulary import Vocabulary

LSTMState = tuple[Float[Tensor, "L B H"], Float[Tensor, "L B H"]]

EMBEDDING_RANGE = 0.1  # encoder and decoder start uniform in [-0.1, 0.1]


@dataclass(frozen=True)
class LSTMShape:
    """The sizes of a language model, and how its weights are shared and dropped.

    >>> LSTMShape(vocabulary_size=9, hidden=4).width
    4
    """

    vocabulary_size: int
    hidden: int
    layers: int = 1
    embedding: int | None = None  # None: as wide as the hidden state
    tied: bool = False
    dropout: float = 0.0

    def __post_init__(self) -> None:
        check_whole(self, ("vocabulary_size", "hidden", "layers", "width"), error=ModelError)
        if not is_number(self.dropout) or not 0.0 <= self.dropout < 1.0:
            raise ModelError(f"dropout is {self.dropout}; it must be at least 0 and below 1")
        if as_flag("tied", self.tied, error=ModelError) and self.width != self.hidden:
            raise ModelError(
                f"tied weights need an embedding as wide as the hidden state: embedding is "
                f"{self.width}, hidden is {self.hidden}"
            )

    @property
    def width(self) -> int:
        """Width of the embedding."""
        return self.hidden if self.embedding is None else self.embedding

    def to_dict(self) -> dict[str, object]:
        """The fields by name, as stored with the weights."""
        return asdict(self)


class LanguageModel(nn.Module):
    """`encoder` (nn.Embedding), `rnn` (nn.LSTM, batch first) and `decoder` (nn.Linear).

    >>> model = LanguageModel(LSTMShape(vocabulary_size=9, hidden=4))
    >>> logits, state = model(torch.tensor([[1, 2, 3]]))
    >>> logits.shape
    torch.Size([1, 3, 9])
    """

    def __init__(self, shape: LSTMShape, *, vocabulary: Vocabulary | None = None) -> None:
        super().__init__()
        if vocabulary is not None and len(vocabulary) != shape.vocabulary_size:
            raise ModelError(
                f"the vocabulary has {len(vocabulary)} words, but vocabulary_size is "
                f"{shape.vocabulary_size}; they must agree"
            )
        self.shape, self.vocabulary = shape, vocabulary
        between = shape.dropout if shape.layers > 1 else 0.0
        self.encoder = nn.Embedding(shape.vocabulary_size, shape.width)
        self.rnn = nn.LSTM(
            shape.width, shape.hidden, shape.layers, batch_first=True, dropout=between
        )
        self.decoder = nn.Linear(shape.hidden, shape.vocabulary_size)
        self.dropout = nn.Dropout(shape.dropout)
        if shape.tied:
            self.decoder.weight = self.encoder.weight

    def forward(
        self, tokens: Int[Tensor, "B N"], state: LSTMState | None = None
    ) -> tuple[Float[Tensor, "B N V"], LSTMState]:
        """Logits for the token after each token, and the state to continue from."""
        hidden, state = self.read(tokens, state)
        return self.decoder(hidden), state

    def read(
        self, tokens: Int[Tensor, "B N"], state: LSTMState | None = None
    ) -> tuple[Float[Tensor, "B N H"], LSTMState]:
        """The top layer's hidden state at every step (dropped out in training), and the last."""
        hidden, state = self.rnn(self.dropout(self.encoder(tokens)), state)
        return self.dropout(hidden), state

    def initial_state(self, batch: int) -> LSTMState:
        """Zeros, on the model's device and in its type."""
        like = self.encoder.weight
        shape = (self.shape.layers, batch, self.shape.hidden)
        return like.new_zeros(shape), like.new_zeros(shape)

    def layers(self) -> list[LSTMLayer]:
        """The weights of each layer, from the first."""
        get = self.rnn.get_parameter
        return [
            LSTMLayer(
                get(f"weight_ih_l{layer}"),
                get(f"weight_hh_l{layer}"),
                get(f"bias_ih_l{layer}") + get(f"bias_hh_l{layer}"),
            )
            for layer in range(self.shape.layers)
        ]

    def states(self, tokens: Int[Tensor, "B N"], state: LSTMState | None = None) -> LSTMStates:
        """Gates, cell and hidden state of every layer at every step, each (L, B, N, H).

        Step t is the state after token t was read; nothing is dropped out.
        """
        state = self.initial_state(len(tokens)) if state is None else state
        below, found = self.encoder(tokens), []
        for layer, before in zip(self.layers(), zip(*state, strict=True), strict=True):
            projected = below @ layer.from_input.T + layer.bias
            steps = unroll(projected.unbind(1), layer.from_hidden, before)
            found.append([torch.stack(parts, dim=1) for parts in zip(*steps, strict=True)])
            below = found[-1][-1]
        return LSTMStates(*(torch.stack(parts) for parts in zip(*found, strict=True)))

    def encode(self, tokens: Sequence[str | int]) -> tuple[Int[Tensor, " N"], int]:
        """Token numbers on the model's device, and how many words became <unk>."""
        vocabulary = self.vocabulary
        if vocabulary is None and any(isinstance(token, str) for token in tokens):
            raise ModelError(
                "this model was saved without its words, so it takes token numbers only; "
                "build it with vocabulary=Vocabulary(words) to give it words"
            )
        if vocabulary is None:
            vocabulary = Vocabulary(tuple(map(str, range(self.shape.vocabulary_size))))
        encoded = vocabulary.encode(tokens)
        return torch.tensor(encoded.ids, device=self.encoder.weight.device), encoded.unknown


def language_model(
    *,
    vocabulary_size: int,
    hidden: int,
    layers: int = 1,
    seed: int = 0,
    embedding: int | None = None,
    tied: bool = False,
    dropout: float = 0.0,
    words: Sequence[str] | Vocabulary | None = None,
) -> LanguageModel:
    """A new language model; the seed decides its weights, whatever was drawn before.

    >>> model = language_model(vocabulary_size=9, hidden=4, seed=1)
    >>> model.states(torch.tensor([[1, 2, 3]])).cell.shape  # layers, batch, time, hidden
    torch.Size([1, 1, 3, 4])
    """
    shape = LSTMShape(vocabulary_size, hidden, layers, embedding, tied, dropout)
    vocabulary = None if words is None else Vocabulary.of(words)
    return initialise(LanguageModel(shape, vocabulary=vocabulary), seed)


def initialise(model: LanguageModel, seed: int) -> LanguageModel:
    """Draw fresh weights: encoder and decoder in ±0.1, decoder bias 0, LSTM in ±1/sqrt(H)."""
    check_seed(seed, least=-LARGEST_SEED, error=ModelError)
    generator = torch.Generator().manual_seed(seed)
    bound = 1 / math.sqrt(model.shape.hidden)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            limit = bound if name.startswith("rnn.") else EMBEDDING_RANGE
            drawn = torch.empty(parameter.shape).uniform_(-limit, limit, generator=generator)
            parameter.copy_(torch.zeros_like(drawn) if name == "decoder.bias" else drawn)
    return model
