"""Checks of inputs: the model, the sentences, the sets of words, the step."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from espalier.data import Parsed, Treebank
from espalier.errors import DataError, ModelError
from espalier.nets.lstm import Encoded, LanguageModel, LSTMState, number_of
from espalier.networks import Tokens, check_text, read_focus

# Models whose weights were found finite, and which weights these were.
_CHECKED: WeakKeyDictionary[LanguageModel, list[tuple[int, int]]] = WeakKeyDictionary()

Words = str | Sequence[str | int] | Tensor | Parsed
Sentences = Sequence[Words] | Treebank


class ReadWords:
    """What has words, and places of those that the model does not know."""

    words: tuple[str, ...]
    unknown_at: tuple[int, ...]

    @property
    def unknown(self) -> int:
        """How many words the model does not know."""
        return len(self.unknown_at)

    @property
    def unknown_words(self) -> tuple[str, ...]:
        """The words that the model does not know, and read as <unk>."""
        return tuple(self.words[place] for place in self.unknown_at)


@dataclass(frozen=True)
class Sentence(ReadWords):
    """A sentence as the model reads it, and as people do."""

    ids: tuple[int, ...]
    words: tuple[str, ...]
    unknown_at: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.words)


def check_model(model: object) -> LanguageModel:
    """The model, if it is an LSTM language model in float32 or float64, all weights finite."""
    if not isinstance(model, LanguageModel):
        raise ModelError(
            f"a {type(model).__name__} cannot be decomposed: an LSTM language model is needed; "
            f"espalier.nets.lstm.load_language_model makes one of a checkpoint, a module or a "
            f"state dict"
        )
    dtype = model.encoder.weight.dtype
    if dtype not in (torch.float32, torch.float64):
        raise ModelError(
            f"the model's weights are {dtype}; decompositions are in float32 or float64: give "
            f"model.float() or model.double()"
        )
    seen = [(weights.data_ptr(), weights._version) for weights in model.parameters()]
    if _CHECKED.get(model) == seen:  # a sum over a vocabulary takes as long as a sentence
        return model
    for name, weights in model.named_parameters():
        # A sum is finite only if every weight is, and is the fastest check.
        if not weights.detach().sum().isfinite() and not weights.detach().isfinite().all():
            raise ModelError(f"the model has NaN or infinite weights in {name}; train it again")
    _CHECKED[model] = seen
    return model


def read_sentence(model: LanguageModel, tokens: Words) -> Sentence:
    """The sentence in numbers and words; a string is split at white space."""
    given = tokens if isinstance(tokens, Parsed) else as_tokens(tokens)
    tokens = as_tokens(given)
    check_text(" ".join(token for token in tokens if isinstance(token, str)))
    if not tokens:
        raise DataError("the sentence is empty: there is nothing to decompose; give it words")
    encoded = encode(model, given)
    known = model.vocabulary
    words = (
        token if isinstance(token, str) else known.words[number] if known else str(number)
        for token, number in zip(tokens, encoded.ids, strict=True)
    )
    return Sentence(encoded.ids, tuple(words), encoded.unknown_at)


def read_batch(given: Words | Sentences) -> list[Words] | None:
    """The sentences of a batch: a list of sentences or a treebank. None: it is one sentence.

    A list of words is one sentence, a list of strings with white space several.
    """
    if isinstance(given, Treebank):
        return list(given)
    if not isinstance(given, list | tuple) or not given:
        return None
    several = [_is_sentence(one) for one in given]
    if all(several):
        return list(given)
    if any(several):
        one = given[several.index(True)]
        raise DataError(
            f"{one!r} is a sentence, but {given[several.index(False)]!r} next to it is a word; "
            f"give a list of words, or a list of sentences: each a string or a list of words"
        )
    return None


def _is_sentence(one: object) -> bool:
    if isinstance(one, str):
        return len(one.split()) > 1
    return isinstance(one, list | tuple | Parsed) or (isinstance(one, Tensor) and one.ndim > 0)


def as_tokens(tokens: Words) -> Sequence[str | int]:
    """Words or numbers; a string is split at white space."""
    if isinstance(tokens, str):
        return tokens.split()
    if isinstance(tokens, Parsed):
        return tokens.words
    if isinstance(tokens, Tensor):
        if tokens.ndim != 1:
            raise DataError(f"tokens have {tokens.ndim} axes; one sentence has one: its words")
        found: list[str | int] = tokens.tolist()
        return found
    if isinstance(tokens, list | tuple):
        return tokens
    return _listed(tokens)


def _listed(tokens: object) -> list[str | int]:
    single = isinstance(tokens, bytes) or getattr(tokens, "ndim", 1) == 0
    if single or not isinstance(tokens, Iterable):
        raise DataError(
            f"the sentence is {tokens!r}; it must be a string, or a list of words or numbers"
        )
    return list(tokens)


def encode(model: LanguageModel, given: Words) -> Encoded:
    """The numbers of words or of numbers already, and how many words were not known.

    The words of a treebank's sentence may have white space in them.
    """
    tokens = [one if isinstance(one, str) else number_of(one) for one in as_tokens(given)]
    if model.vocabulary is not None:
        known = model.vocabulary
        return known.encode_forms(tokens) if isinstance(given, Parsed) else known.encode(tokens)
    ids = [-1 if isinstance(token, str) else token for token in tokens]
    if min(ids) < 0 or max(ids) >= model.shape.vocabulary_size:
        model.encode(tokens)  # which raises the error
    return Encoded(tuple(ids))


def read_places(given: Any, sentence: Sentence, name: str) -> tuple[int, ...]:
    """Places of words, given as such or as words."""
    some: Any = [given] if isinstance(given, str) else given
    if isinstance(some, list | tuple | set) and any(isinstance(one, str) for one in some):
        return read_focus(Tokens(sentence.ids, sentence.words), some, name)
    return read_set(some, len(sentence), name)


def read_set(places: Iterable[int], length: int, name: str) -> tuple[int, ...]:
    """Places of words, in order and each once."""
    found: set[int] = set()
    try:
        for place in map(_whole, places):
            if not 0 <= place < length:
                raise DataError(
                    f"{name} names word {place}, which is outside the sentence: it has "
                    f"0..{length - 1}"
                )
            found.add(place)
    except TypeError as error:
        raise DataError(
            f"{name} is {places!r}; it must be a list of places of words, as in {name}=[0, 2]"
        ) from error
    if not found:
        raise DataError(f"{name} is empty; name at least one word by its place, 0..{length - 1}")
    return tuple(sorted(found))


def _whole(place: object) -> int:
    """The number; truth values are none, or a mask would be taken for places 0 and 1."""
    if isinstance(place, bool) or (isinstance(place, Tensor) and place.dtype == torch.bool):
        raise TypeError(f"{place!r} is a truth value")
    return operator.index(place)  # type: ignore[arg-type]


def check_disjoint(a: Sequence[int], b: Sequence[int]) -> None:
    """Refuse sets that have a word in common."""
    shared = sorted(set(a) & set(b))
    if shared:
        raise DataError(
            f"a and b share word {', '.join(map(str, shared))}; interdependence is between sets "
            f"that have no word in common"
        )


def read_step(at: int | None, covered: Sequence[int], length: int) -> int:
    """The step to read at: the last word of `covered` unless a later one is given."""
    last = max(covered)
    if at is None:
        return last
    try:
        step = _whole(at)
    except TypeError as error:
        raise DataError(f"at is {at!r}; it must be the place of a word, as in at=2") from error
    if not 0 <= step < length:
        raise DataError(f"step {step} is outside the sentence: it has 0..{length - 1}")
    if step < last:
        raise DataError(
            f"step {step} comes before word {last} is read, which it is to cover; use at={last} "
            f"or later"
        )
    return step


def read_state(model: LanguageModel, state: LSTMState, rows: int) -> LSTMState:
    """The initial state, if it has a row for each sentence and is of the model's shape."""
    like = model.encoder.weight
    wanted = (model.shape.layers, rows, model.shape.hidden)
    parts = tuple(state) if isinstance(state, tuple | list) else ()
    if len(parts) != 2 or not all(isinstance(part, Tensor) for part in parts):
        raise DataError(
            f"state is a {type(state).__name__}; it must be a hidden and a cell state, as the "
            f"model returns them"
        )
    for name, part in zip(("hidden", "cell"), parts, strict=True):
        if part.shape != wanted:
            raise DataError(
                f"the {name} state has shape {tuple(part.shape)}; (layers, sentences, units) are "
                f"{wanted}"
            )
        if not part.isfinite().all():
            raise DataError(f"the {name} state has NaN or infinite numbers; give another")
    return parts[0].detach().to(like), parts[1].detach().to(like)


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
    """One row per set, true at its places."""
    mask = torch.zeros(shape, dtype=torch.bool)
    for row, places in zip(mask, sets, strict=True):
        row[list(places)] = True
    return mask.to(device)
