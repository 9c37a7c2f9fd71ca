"""Text in the tokens of a network: ids, words, and their places."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from espalier.errors import DataError
from espalier.nets.lstm import Vocabulary, number_of

Span = tuple[int, int]
# Words with their apostrophes and hyphens; numbers with their points and commas; other signs alone.
WORD = re.compile(r"<\w+>|\[\w+\]|\d+(?:[.,]\d+)*|\w+(?:['\u2019-]\w+)*|[^\w\s]")


@dataclass(frozen=True)
class Tokens:
    """A sentence in numbers and in words; `spans` where it was given as text."""

    ids: tuple[int, ...]
    words: tuple[str, ...]
    unknown_at: tuple[int, ...] = ()
    spans: tuple[Span, ...] | None = None
    text: str | None = None

    def __len__(self) -> int:
        return len(self.ids)


class Tokenizer(Protocol):
    """Anything that turns text into numbers and back."""

    def encode(self, text: str) -> Any:
        """Numbers of tokens."""

    def decode(self, ids: list[int]) -> str:
        """The text of some numbers."""


class WordTokenizer:
    """Words of a vocabulary; punctuation is separate, and case is kept if the vocabulary has any.

    >>> WordTokenizer(Vocabulary(("it", "ran", "."))).read("It ran.").words
    ('it', 'ran', '.')
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        special = re.compile(r"<\w+>|\[\w+\]")
        self.lower = not any(w != w.lower() for w in vocabulary.words if not special.fullmatch(w))

    def read(self, text: str) -> Tokens:
        """The sentence in words."""
        found = list(WORD.finditer(text))
        words = [one.group() for one in found]
        if self.lower:
            words = [word.lower() for word in words]
        encoded = self.vocabulary.encode(words)
        spans = tuple(one.span() for one in found)
        return Tokens(encoded.ids, tuple(words), encoded.unknown_at, spans, text)


def as_tokenizer(given: Any) -> WordTokenizer | Tokenizer | None:
    """A tokenizer as it is; of a list or a dict of words one that separates punctuation."""
    if isinstance(given, Vocabulary | Mapping) or (
        isinstance(given, Sequence) and not isinstance(given, str)
    ):
        return WordTokenizer(Vocabulary.of(given))
    if given is None or isinstance(given, WordTokenizer):
        return given
    missing = [name for name in ("encode", "decode") if not callable(getattr(given, name, None))]
    if missing:
        raise DataError(
            f"tokenizer is a {type(given).__name__} without {' and '.join(missing)}; give a "
            f"tokenizer that has encode and decode, or a list or dict of words"
        )
    tokenizer: Tokenizer = given
    return tokenizer


def check_text(text: str) -> str:
    """The text, if all of it can be written; half of a character is refused.

    >>> check_text("the dog")
    'the dog'
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        place = error.start
        raise DataError(
            f"{text[place]!a}, character {place} of the text, is half of a character; was it cut, "
            f"or read in another encoding?"
        ) from error
    return text


def read_tokens(tokenizer: WordTokenizer | Tokenizer | None, given: Any) -> Tokens:
    """One sentence: text, a list of words, or numbers."""
    if isinstance(given, str):
        if tokenizer is None:
            raise DataError(
                f"{given[:40]!r} is text, but the network was given no tokenizer; give numbers, or "
                f"es.network(..., tokenizer=...)"
            )
        read = tokenizer.read if isinstance(tokenizer, WordTokenizer) else _read_with(tokenizer)
        found = read(check_text(given))
    else:
        words = getattr(given, "words", given)
        if not isinstance(words, Iterable) or getattr(words, "ndim", 1) == 0:
            raise DataError(
                f"the sentence is {str(given)[:60]}; give a string, or a list of words or numbers"
            )
        found = _listed(tokenizer, list(words), parsed=words is not given)
    if not found.ids:
        raise DataError("the sentence is empty: there is nothing to decompose; give it words")
    return found


def _read_with(tokenizer: Tokenizer) -> Any:
    def read(text: str) -> Tokens:
        offsets: Any = None
        if callable(tokenizer) and getattr(tokenizer, "is_fast", False):
            encoded = tokenizer(text, return_offsets_mapping=True)
            ids, offsets = encoded["input_ids"], encoded["offset_mapping"]
        else:
            encoded = tokenizer.encode(text)
            ids, offsets = getattr(encoded, "ids", encoded), getattr(encoded, "offsets", None)
        numbers = tuple(int(number) for number in ids)
        words = tuple(_word(tokenizer, number) for number in numbers)
        spans = None if offsets is None else tuple((int(a), int(b)) for a, b in offsets)
        unknown = getattr(tokenizer, "unk_token_id", None)
        special = text.count(str(getattr(tokenizer, "unk_token", "\0")))
        places = tuple(p for p, n in enumerate(numbers) if n == unknown) if not special else ()
        return Tokens(numbers, words, places, spans, text)

    return read


def _word(tokenizer: Tokenizer, number: int) -> str:
    try:
        found = tokenizer.decode([number])
    except TypeError:  # some decode one number
        found = tokenizer.decode(number)  # type: ignore[arg-type]
    return found.strip() or f"#{number}"


def _listed(
    tokenizer: WordTokenizer | Tokenizer | None, given: list[Any], *, parsed: bool
) -> Tokens:
    """Words of a vocabulary, tokens of a tokenizer, or numbers.

    Words of a treebank's sentence (`parsed`) may have white space in them.
    """
    for one in given:
        if isinstance(one, str):
            check_text(one)
    if isinstance(tokenizer, WordTokenizer):
        words = [w.lower() if tokenizer.lower and isinstance(w, str) else w for w in given]
        known = tokenizer.vocabulary
        encoded = known.encode_forms(words) if parsed else known.encode(words)
        return Tokens(
            encoded.ids,
            tuple(
                given[place] if isinstance(given[place], str) else word
                for place, word in enumerate(known.decode(encoded.ids))
            ),
            encoded.unknown_at,
        )
    if any(isinstance(one, str) for one in given):
        if tokenizer is None or not all(isinstance(one, str) for one in given):
            raise DataError("a list of words needs a tokenizer: es.network(..., tokenizer=...)")
        return read_tokens(tokenizer, " ".join(given))
    ids = tuple(number_of(one) for one in given)
    names = (str(n) if tokenizer is None else _word(tokenizer, n) for n in ids)
    return Tokens(ids, tuple(names))


def read_focus(tokens: Tokens, given: Any, name: str = "focus") -> tuple[int, ...]:
    """Places of tokens, from places, words or spans of characters (start, end)."""
    if isinstance(given, str | int) or getattr(given, "ndim", 1) == 0:
        given = [given]
    found: set[int] = set()
    for one in given:
        if isinstance(one, str):
            found |= _places_of_word(tokens, one, name)
        elif _is_span(one):
            found |= _within(tokens, one, name)
        else:
            place = number_of(one)
            if isinstance(one, bool) or not 0 <= place < len(tokens):
                raise DataError(f"{name} names token {one!r}; there are 0..{len(tokens) - 1}")
            found.add(place)
    if not found:
        raise DataError(f"{name} is empty; name a word, a place or a span of characters")
    return tuple(sorted(found))


def _is_span(given: object) -> bool:
    return isinstance(given, tuple) and len(given) == 2 and all(type(n) is int for n in given)


def _within(tokens: Tokens, span: Span, name: str) -> set[int]:
    if tokens.spans is None:
        raise DataError(f"{name} names characters {span}, but the sentence was not given as text")
    found = {p for p, (a, b) in enumerate(tokens.spans) if a < span[1] and span[0] < b}
    if not found:
        raise DataError(f"{name} names characters {span}, where there is no token")
    return found


def _places_of_word(tokens: Tokens, word: str, name: str) -> set[int]:
    """Every occurrence of a word, all its pieces; by the text where there is one."""
    found = {place for place, own in enumerate(tokens.words) if own == word}
    if not found and tokens.text is not None and tokens.spans is not None:
        for hit in re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", tokens.text):
            found |= _within(tokens, hit.span(), name)
    if not found:
        raise DataError(f"{name} names {word!r}, which is not in {' '.join(tokens.words)!r}")
    return found
