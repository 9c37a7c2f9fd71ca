"""GRUs and Transformers from what a checkpoint holds; the LSTM's own files are in `nets.lstm`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, overload

from torch import Tensor, nn

from espalier.errors import ModelError, nearest
from espalier.nets import lstm
from espalier.nets.language.building import build, shape_of
from espalier.nets.language.models import AnyModel, CausalTransformer
from espalier.nets.lstm import LanguageModel, LSTMShape, StackedWeights, Vocabulary
from espalier.nets.tensor_files import check_finite

ENGLISH = {
    "lstm": lstm.ENGLISH,
    "transformer": Path(__file__).parent / "pretrained" / "english.safetensors",
}


def read_shape(record: Any) -> LSTMShape:
    """The shape of any architecture from what was stored with the weights.

    >>> read_shape({"vocabulary_size": 9, "hidden": 4, "architecture": "gru"}).layers
    1
    """
    if not isinstance(record, dict) or not {"vocabulary_size", "hidden"} <= record.keys():
        raise ModelError(f"its sizes are not those of a language model: {str(record)[:60]}")
    sizes = dict(record)
    return shape_of(sizes.pop("architecture", "lstm"), sizes)


def build_from(
    tensors: Mapping[str, Tensor], record: Any, vocabulary: Vocabulary | None
) -> AnyModel:
    """The model of a stored shape with these weights; tensors that do not fit are named."""
    model = build(read_shape(record), vocabulary=vocabulary)
    own = {name: tensor.float() for name, tensor in tensors.items()}
    check_finite(own)
    if model.shape.tied:
        own["decoder.weight"] = own["encoder.weight"]
    expected = model.state_dict()
    for name in {**expected, **own}:
        wanted, found = (tuple(t[name].shape) if name in t else None for t in (expected, own))
        if wanted != found:
            raise ModelError(f"{name} is {found or 'missing'}; by its own sizes it is {wanted}")
    model.load_state_dict(own)
    return model.eval()


def load_language_model(
    source: str | os.PathLike[str] | nn.Module | Mapping[str, Tensor] | None = None,
    *,
    member: str | int | None = None,
    words: Sequence[str] | Mapping[str, int] | Vocabulary | None = None,
) -> AnyModel:
    """A language model of any architecture: what `nets.lstm` loads, and GRUs and Transformers."""
    return lstm.load_language_model(source, member=member, words=words, build=_build)


@overload
def english_model(architecture: Literal["lstm"] = ...) -> LanguageModel: ...
@overload
def english_model(architecture: Literal["transformer"]) -> CausalTransformer: ...
@overload
def english_model(architecture: str) -> AnyModel: ...
def english_model(architecture: str = "lstm") -> AnyModel:
    """A small model of English that comes with the package, trained on WikiText-2.

    >>> import espalier as es
    >>> es.english_model().vocabulary.decode([0, 1])
    ['<eos>', '=']
    >>> es.english_model("transformer").shape.layers
    4
    """
    if not isinstance(architecture, str) or architecture not in ENGLISH:
        shown = str(architecture)[:60]
        raise ModelError(f"the package brings no {shown!r} of English; {nearest(shown, ENGLISH)}")
    return load_language_model(ENGLISH[architecture])


def models_of(tensors: dict[str, Tensor], metadata: Mapping[str, str]) -> tuple[AnyModel, ...]:
    """Every model that a checkpoint holds, of any architecture."""
    return lstm.models_of(tensors, metadata, build=_build)


def _build(
    tensors: dict[str, Tensor], record: dict[str, Any], vocabulary: Vocabulary | None
) -> AnyModel:
    shape = record.get("shape")
    if isinstance(shape, dict) and "architecture" in shape:
        return build_from(tensors, shape, vocabulary)
    return lstm.build_lstm(tensors, record, vocabulary)


def member(weights: StackedWeights, index: int, shape: LSTMShape) -> AnyModel:
    """One member of a stack as a model of its own, on the CPU."""
    own = {name: tensor[index].detach().cpu() for name, tensor in weights.items()}
    return build_from(own, shape.to_dict(), None)
