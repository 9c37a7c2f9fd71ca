"""The words of a language model and their numbers. Nothing here needs torch."""

from __future__ import annotations

import json
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from espalier.errors import ModelError, nearest
from espalier.results import Described

UNKNOWN = "<unk>"

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
    """The numbers of some words, and how many of those words were not known."""

    ids: tuple[int, ...]
    unknown: int


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
    def of(cls, words: Sequence[str] | Vocabulary) -> Vocabulary:
        """The words themselves, or a vocabulary as it is."""
        return words if isinstance(words, Vocabulary) else cls(tuple(words))

    def to_metadata(self) -> dict[str, str]:
        """As stored beside the weights."""
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
        """The numbers of words (or of numbers already); an unknown word becomes <unk>, counted."""
        ids, unknown = [], 0
        for token in tokens:
            if isinstance(token, str):
                known = token in self.index
                unknown += not known
                ids.append(self.index[token] if known else self._unknown(token))
            else:
                ids.append(self._checked(number_of(token)))
        return Encoded(tuple(ids), unknown)

    def decode(self, ids: Sequence[int]) -> list[str]:
        """The words of numbers."""
        return [self.words[self._checked(int(number))] for number in ids]

    def _unknown(self, word: str) -> int:
        if UNKNOWN not in self.index:
            raise ModelError(
                f"{word!r} is not in the vocabulary, which has no {UNKNOWN} to stand for it; "
                f"{nearest(word, self.words)}"
            )
        return self.index[UNKNOWN]

    def _checked(self, number: int) -> int:
        if not 0 <= number < len(self.words):
            raise ModelError(
                f"token {number} is outside the vocabulary: it has 0..{len(self.words) - 1}"
            )
        return number


def _read_list(text: str, kind: type[Item]) -> tuple[Item, ...]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"its words or counts are not JSON: {error}") from error
    if not isinstance(found, list) or not all(type(item) is kind for item in found):
        raise ModelError(f"its words or counts are {text[:40]!r}...; a list of {kind} is expected")
    return tuple(found)
