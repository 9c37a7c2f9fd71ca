"""What is given is checked at the door: the model, the sentences, the sets of words, the step."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from espalier.errors import DataError, ModelError
from espalier.nets.lstm import LanguageModel
from espalier.nets.vocabulary import Encoded

Words = str | Sequence[str | int] | Tensor


@dataclass(frozen=True)
class Sentence:
    """A sentence as the model reads it, and as people do."""

    ids: tuple[int, ...]
    words: tuple[str, ...]
    unknown: int

    def __len__(self) -> int:
        return len(self.words)


def check_model(model: object) -> LanguageModel:
    """The model, if it is an LSTM language model whose weights are all finite."""
    if not isinstance(model, LanguageModel):
        raise ModelError(
            f"a {type(model).__name__} cannot be decomposed: an LSTM language model is needed; "
            f"es.load_language_model makes one of a checkpoint, a module or a state dict"
        )
    for name, weights in model.named_parameters():
        # A sum is finite only if every weight is, and is the fastest thing to ask for.
        if not weights.detach().sum().isfinite() and not weights.detach().isfinite().all():
            raise ModelError(f"the model has NaN or infinite weights in {name}; train it again")
    return model


def read_sentence(model: LanguageModel, tokens: Words) -> Sentence:
    """The sentence in numbers and words; a string is split at white space."""
    tokens = as_tokens(tokens)
    if not tokens:
        raise DataError("the sentence is empty: there is nothing to decompose; give it words")
    encoded = encode(model, tokens)
    known = model.vocabulary
    words = (
        token if isinstance(token, str) else known.words[number] if known else str(number)
        for token, number in zip(tokens, encoded.ids, strict=True)
    )
    return Sentence(encoded.ids, tuple(words), encoded.unknown)


def as_tokens(tokens: Words) -> Sequence[str | int]:
    """Words or numbers; a string is split at white space."""
    if isinstance(tokens, str):
        return tokens.split()
    if isinstance(tokens, Tensor):
        if tokens.ndim != 1:
            raise DataError(f"tokens have {tokens.ndim} axes; one sentence has one: its words")
        return [int(token) for token in tokens.tolist()]
    return tokens if isinstance(tokens, list | tuple) else list(tokens)


def encode(model: LanguageModel, tokens: Sequence[str | int]) -> Encoded:
    """The numbers of words or of numbers already, and how many words were not known."""
    if model.vocabulary is not None:
        return model.vocabulary.encode(tokens)
    ids = [-1 if isinstance(token, str) else operator.index(token) for token in tokens]
    if min(ids) < 0 or max(ids) >= model.shape.vocabulary_size:
        model.encode(tokens)  # which says what is wrong with them
    return Encoded(tuple(ids), 0)


def read_set(places: Iterable[int], length: int, name: str) -> tuple[int, ...]:
    """Places of words, in order and each once."""
    try:
        found = sorted({operator.index(place) for place in places})
    except TypeError as error:
        raise DataError(
            f"{name} is {places!r}; it must be a list of places of words, as in {name}=[0, 2]"
        ) from error
    if not found:
        raise DataError(f"{name} is empty; name at least one word by its place, 0..{length - 1}")
    outside = [place for place in found if not 0 <= place < length]
    if outside:
        raise DataError(
            f"{name} names word {outside[0]}, which is outside the sentence: it has 0..{length - 1}"
        )
    return tuple(found)


def check_disjoint(a: Sequence[int], b: Sequence[int]) -> None:
    """Nothing, if no word is in both sets."""
    shared = sorted(set(a) & set(b))
    if shared:
        raise DataError(
            f"a and b share word {', '.join(map(str, shared))}; interdependence is between sets "
            f"that have no word in common"
        )


def read_step(at: int | None, covered: Sequence[int], length: int) -> int:
    """The step to read at: the last word of `covered` unless a later one is asked for."""
    last = max(covered)
    if at is None:
        return last
    step = operator.index(at)
    if not 0 <= step < length:
        raise DataError(f"step {step} is outside the sentence: it has 0..{length - 1}")
    if step < last:
        raise DataError(
            f"step {step} comes before word {last} is read, which it is to cover; use at={last} "
            f"or later"
        )
    return step


def pad(model: LanguageModel, sentences: Sequence[Sentence]) -> Int[Tensor, "B N"]:
    """Sentences as rows, short ones filled up with token 0, which no earlier step can see."""
    longest = max(map(len, sentences))
    rows = model.encoder.weight.new_zeros((len(sentences), longest), dtype=torch.long)
    for row, sentence in zip(rows, sentences, strict=True):
        row[: len(sentence)] = torch.tensor(sentence.ids)
    return rows


def mark(
    sets: Sequence[Sequence[int]], shape: torch.Size, device: torch.device
) -> Bool[Tensor, "B N"]:
    """A row a set, true at its places."""
    mask = torch.zeros(shape, dtype=torch.bool)
    for row, places in zip(mask, sets, strict=True):
        row[list(places)] = True
    return mask.to(device)
