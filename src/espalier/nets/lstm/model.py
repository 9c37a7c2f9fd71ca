"""The LSTM language model: embedding, LSTM, softmax, as in both papers on interdependence.

The forward pass is `nn.LSTM`. What happened inside it, step by step, is given by
`LanguageModel.states`, which repeats the recursion in the open. Saving and loading live in
`nets.files`, training in `espalier.training`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from espalier.errors import ModelError, check_whole
from espalier.nets.lstm.vocabulary import Vocabulary

State = tuple[Float[Tensor, "L B H"], Float[Tensor, "L B H"]]

EMBEDDING_RANGE = 0.1  # encoder and decoder start uniform in [-0.1, 0.1]


@dataclass(frozen=True)
class Shape:
    """The sizes of a language model, and how its weights are shared and dropped."""

    vocabulary_size: int
    hidden: int
    layers: int = 1
    embedding: int | None = None  # None: as wide as the hidden state
    tied: bool = False
    dropout: float = 0.0

    def __post_init__(self) -> None:
        check_whole(self, ("vocabulary_size", "hidden", "layers", "width"), error=ModelError)
        if not 0.0 <= self.dropout < 1.0:
            raise ModelError(f"dropout is {self.dropout}; it must be at least 0 and below 1")
        if self.tied and self.width != self.hidden:
            raise ModelError(
                f"tied weights need an embedding as wide as the hidden state: embedding is "
                f"{self.width}, hidden is {self.hidden}"
            )

    @property
    def width(self) -> int:
        """Width of the embedding."""
        return self.hidden if self.embedding is None else self.embedding

    def to_dict(self) -> dict[str, object]:
        """The fields by name, as stored beside the weights."""
        return asdict(self)


@dataclass(frozen=True)
class States:
    """Everything an LSTM went through, each (layers, batch, time, hidden).

    With i, f, g, o the gates as PyTorch orders them: `input_gate` i, `forget_gate` f and
    `output_gate` o are sigmoids, `candidate` g is a tanh, `cell` is f c' + i g, `hidden` is
    o tanh(cell). Step t is the state after token t was read.
    """

    input_gate: Float[Tensor, "L B N H"]
    forget_gate: Float[Tensor, "L B N H"]
    candidate: Float[Tensor, "L B N H"]
    output_gate: Float[Tensor, "L B N H"]
    cell: Float[Tensor, "L B N H"]
    hidden: Float[Tensor, "L B N H"]


class LanguageModel(nn.Module):
    """`encoder` (nn.Embedding), `rnn` (nn.LSTM, batch first) and `decoder` (nn.Linear)."""

    def __init__(self, shape: Shape, *, vocabulary: Vocabulary | None = None) -> None:
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
        self, tokens: Int[Tensor, "B N"], state: State | None = None
    ) -> tuple[Float[Tensor, "B N V"], State]:
        """Logits for the token after each token, and the state to go on from."""
        hidden, state = self.read(tokens, state)
        return self.decoder(hidden), state

    def read(
        self, tokens: Int[Tensor, "B N"], state: State | None = None
    ) -> tuple[Float[Tensor, "B N H"], State]:
        """The top layer's hidden state at every step (dropped out in training), and the last."""
        hidden, state = self.rnn(self.dropout(self.encoder(tokens)), state)
        return self.dropout(hidden), state

    def initial_state(self, batch: int) -> State:
        """Zeros, on the model's device and in its type."""
        like = self.encoder.weight
        shape = (self.shape.layers, batch, self.shape.hidden)
        return like.new_zeros(shape), like.new_zeros(shape)

    def layer_weights(self, layer: int) -> tuple[Tensor, Tensor, Tensor]:
        """Of one layer: input weights (4H, D), recurrent weights (4H, H), summed bias (4H)."""
        get = self.rnn.get_parameter
        bias = get(f"bias_ih_l{layer}") + get(f"bias_hh_l{layer}")
        return get(f"weight_ih_l{layer}"), get(f"weight_hh_l{layer}"), bias

    def states(self, tokens: Int[Tensor, "B N"], state: State | None = None) -> States:
        """Gates, cell and hidden state of every layer at every step; nothing is dropped out."""
        hidden, cell = self.initial_state(len(tokens)) if state is None else state
        below, rows = self.encoder(tokens), []
        for layer in range(self.shape.layers):
            row = _layer_states(below, self.layer_weights(layer), (hidden[layer], cell[layer]))
            rows.append(row)
            below = row[-1]
        return States(*(torch.stack(parts) for parts in zip(*rows, strict=True)))

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
    """A new language model; the seed decides its weights, whatever was drawn before."""
    shape = Shape(vocabulary_size, hidden, layers, embedding, tied, dropout)
    vocabulary = None if words is None else Vocabulary.of(words)
    return initialise(LanguageModel(shape, vocabulary=vocabulary), seed)


def initialise(model: LanguageModel, seed: int) -> LanguageModel:
    """Draw fresh weights: encoder and decoder in ±0.1, decoder bias 0, LSTM in ±1/sqrt(H)."""
    generator = torch.Generator().manual_seed(seed)
    bound = 1 / math.sqrt(model.shape.hidden)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            limit = bound if name.startswith("rnn.") else EMBEDDING_RANGE
            drawn = torch.empty(parameter.shape).uniform_(-limit, limit, generator=generator)
            parameter.copy_(torch.zeros_like(drawn) if name == "decoder.bias" else drawn)
    return model


def _layer_states(
    inputs: Float[Tensor, "B N D"],
    weights: tuple[Tensor, Tensor, Tensor],
    state: tuple[Float[Tensor, "B H"], Float[Tensor, "B H"]],
) -> tuple[Tensor, ...]:
    """The six tensors of `States` for one layer, in their order, each (B, N, H)."""
    from_input, from_hidden, bias = weights
    projected = inputs @ from_input.T + bias
    hidden, cell = state
    steps = []
    for now in projected.unbind(1):
        i, f, g, o = (now + hidden @ from_hidden.T).chunk(4, dim=-1)
        i, f, g, o = torch.sigmoid(i), torch.sigmoid(f), torch.tanh(g), torch.sigmoid(o)
        cell = f * cell + i * g
        hidden = o * torch.tanh(cell)
        steps.append((i, f, g, o, cell, hidden))
    return tuple(torch.stack(parts, dim=1) for parts in zip(*steps, strict=True))
