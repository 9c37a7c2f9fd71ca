"""New language models of any architecture, and their first weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from espalier.errors import LARGEST_SEED, ModelError, check_seed, nearest
from espalier.nets.language.models import AnyModel, CausalTransformer, GRUModel
from espalier.nets.language.shapes import Architecture, CausalShape, GRUShape
from espalier.nets.lstm import LanguageModel, LSTMShape, Vocabulary
from espalier.nets.lstm import initialise as initialise_lstm
from espalier.nets.room import LAYER, refuse_beyond_memory

SPREAD = 0.02  # of a Transformer's first weights, as GPT-2 has it


def build(shape: LSTMShape, *, vocabulary: Vocabulary | None = None) -> AnyModel:
    """A model of a shape, with torch's own first weights."""
    refuse_beyond_memory(f"a language model of {_in_words(shape)}", _numbers(shape))
    match shape:
        case CausalShape():
            return CausalTransformer(shape, vocabulary=vocabulary)
        case GRUShape():
            return GRUModel(shape, vocabulary=vocabulary)
    return LanguageModel(shape, vocabulary=vocabulary)


def _in_words(shape: LSTMShape) -> str:
    sizes = {"hidden": shape.hidden, "layers": shape.layers, "words": shape.vocabulary_size}
    return ", ".join(f"{name} {size:,}" for name, size in sizes.items())


def _numbers(shape: LSTMShape) -> int:
    """The weights of a model, but for some of its smaller ones."""
    square, places = shape.hidden * shape.hidden, 0
    match shape:
        case CausalShape():
            layer, places = 12 * square, shape.longest * (shape.positions == "learned")
        case GRUShape():
            layer = 6 * square
        case _:
            layer = 8 * square
    ends = shape.vocabulary_size * (shape.width if shape.tied else shape.width + shape.hidden)
    return ends + places * shape.hidden + shape.layers * max(layer, LAYER)


def shape_of(architecture: Architecture, sizes: dict[str, Any]) -> LSTMShape:
    """The shape of an architecture; sizes that it has no use for are refused by name."""
    kinds = {"lstm": LSTMShape, "gru": GRUShape, "transformer": CausalShape}
    if not isinstance(architecture, str) or architecture not in kinds:
        shown = str(architecture)[:60]
        raise ModelError(f"architecture is {shown!r}; {nearest(shown, kinds)}")
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
    **more: int | float | bool | str | None,
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
    check_seed(seed, least=-LARGEST_SEED, error=ModelError)
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
