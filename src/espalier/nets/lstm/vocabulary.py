"""The words of a language model and their numbers. Nothing here needs torch."""

from __future__ import annotations

import json
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from espalier.errors import ModelError, check_kind, nearest
from espalier.results import Described

UNKNOWN = "<unk>"
# How vocabularies write the word that stands for those they lack.
UNKNOWNS = (UNKNOWN, "[UNK]", "<UNK>", "[unk]", "UNK", "<unknown>")
# What marks a piece of a word or its beginning, in the word pieces of common tokenizers.
PIECES = ("##", "\u0120", "\u2581", "@@")

Item = TypeVar("Item", str, int)


def number_of(token: object) -> int:
    """A token that is a number already; what is neither that nor a word is refused."""
    try:
        return operator.index(token)  # type: ignore[arg-type]
    except TypeError as error:
        raise ModelError(
            f"token {token!r} is neither a word nor a whole number; give one or the other"
        ) from error


@dataclass(frozen=True)
class Encoded:
    """The numbers of some words, and the places of those that were not known."""

    ids: tuple[int, ...]
    unknown_at: tuple[int, ...] = ()

    @property
    def unknown(self) -> int:
        """How many words were not known."""
        return len(self.unknown_at)


@dataclass(frozen=True, repr=False)
class Vocabulary(Described):
    """Distinct words in a fixed order; a word's number is its place.

    `counts` says how often each occurs in the text that the model was trained on, where known.
    """

    words: tuple[str, ...]
    counts: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.counts is not None and len(self.counts) != len(self.words):
            raise ModelError(
                f"{len(self.words)} words have {len(self.counts)} counts; give one to each"
            )
        if len(set(self.words)) != len(self.words):
            twice = next(word for word in self.words if self.words.count(word) > 1)
            raise ModelError(f"the vocabulary holds {twice!r} twice; words must be distinct")

    def __len__(self) -> int:
        return len(self.words)

    @classmethod
    def of(cls, words: Sequence[str] | Mapping[str, int] | Vocabulary) -> Vocabulary:
        """Words in the order of their numbers, or with them (a dict); a vocabulary as it is."""
        if isinstance(words, Vocabulary):
            return words
        found = _by_number(words) if isinstance(words, Mapping) else _all_text(words)
        pieces = [word for word in found if word.startswith(PIECES) or word.endswith(PIECES[-1])]
        if len(pieces) > len(found) // 100 and any(len(word) > 2 for word in pieces):
            raise ModelError(
                f"{len(pieces):,} of {len(found):,} words are word pieces, such as {pieces[-1]!r}; "
                f"text goes into such a model by its tokenizer: es.network(model, tokenizer=...)"
            )
        return cls(found)

    def to_metadata(self) -> dict[str, str]:
        """As stored with the weights."""
        found = {"words": json.dumps(self.words)}
        return found if self.counts is None else found | {"counts": json.dumps(self.counts)}

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, str]) -> Vocabulary | None:
        """What `to_metadata` stored; None where there are no words."""
        if "words" not in metadata:
            return None
        counts = _read_list(metadata["counts"], int) if "counts" in metadata else None
        return cls(_read_list(metadata["words"], str), counts)

    @cached_property
    def index(self) -> dict[str, int]:
        """The number of each word."""
        return {word: number for number, word in enumerate(self.words)}

    def encode(self, tokens: Iterable[str | int]) -> Encoded:
        """The numbers of words (or of numbers already); an unknown word becomes <unk>, counted.

        Several words in one string, and none, are refused.
        """
        given = list(tokens)
        for token in given:
            if isinstance(token, str) and token not in self.index and token.split() != [token]:
                raise ModelError(
                    f"the word {token!r} is empty or has white space in it; give words one by one, "
                    f"or a sentence as a string"
                )
        return self.encode_forms(given)

    def encode_forms(self, tokens: Iterable[str | int]) -> Encoded:
        """As `encode`, of words as a treebank divides them: "New York" may be one, known or not.

        >>> Vocabulary(("New", "York", "<unk>")).encode_forms(["York", "New York"]).ids
        (1, 2)
        """
        ids: list[int] = []
        unknown = []
        for token in tokens:
            if isinstance(token, str):
                if token not in self.index:
                    unknown.append(len(ids))
                ids.append(self.index.get(token, -1))
                if ids[-1] < 0:
                    ids[-1] = self._unknown(token)
            else:
                ids.append(self._checked(number_of(token)))
        return Encoded(tuple(ids), tuple(unknown))

    def decode(self, ids: Sequence[int]) -> list[str]:
        """The words of numbers."""
        return [self.words[self._checked(int(number))] for number in ids]

    @cached_property
    def unknown_word(self) -> str | None:
        """The word that stands for those outside the vocabulary: <unk>, [UNK] and the like."""
        return next((word for word in UNKNOWNS if word in self.index), None)

    def _unknown(self, word: str) -> int:
        if self.unknown_word is None:
            raise ModelError(
                f"{word!r} is not in the vocabulary, which has no {UNKNOWN} to stand for it; "
                f"{nearest(word, self.words)}"
            )
        return self.index[self.unknown_word]

    def _checked(self, number: int) -> int:
        if not 0 <= number < len(self.words):
            raise ModelError(
                f"token {number} is outside the vocabulary: it has 0..{len(self.words) - 1}"
            )
        return number


def _all_text(words: object) -> tuple[str, ...]:
    """The words, which are text."""
    if not isinstance(words, Iterable) or getattr(words, "ndim", 1) == 0:
        raise ModelError(f"words is {str(words)[:60]}; give a list of words, by their numbers")
    found = tuple(words)
    for word in found:
        check_kind("one of the words", word, str, error=ModelError)
    return found


def _by_number(words: Mapping[str, int]) -> tuple[str, ...]:
    """The words of a dict in the order of their numbers, which are 0, 1, 2 and so on."""
    order = sorted(words, key=lambda word: number_of(words[word]))
    for number, word in enumerate(order):
        if words[word] != number:
            found = f"{word!r} has {words[word]}"
            raise ModelError(f"no word has the number {number} ({found}); give one to each number")
    return tuple(order)


def _read_list(text: str, kind: type[Item]) -> tuple[Item, ...]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"its words or counts are not JSON: {error}") from error
    if not isinstance(found, list) or not all(type(item) is kind for item in found):
        raise ModelError(f"its words or counts are {text[:40]!r}...; a list of {kind} is expected")
    return tuple(found)
