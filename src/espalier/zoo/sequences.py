"""Entries of programs that were written as RASP expressions over a small set of symbols."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from string import ascii_lowercase
from typing import Any

from espalier.errors import ProgramError
from espalier.language import as_integer, as_items
from espalier.rasp import Translation
from espalier.zoo.entry import Entry

Symbols = list[Any]


def sequence_entry(
    translation: Translation,
    *,
    answer: Callable[[Symbols], Any],
    expected: Callable[[Symbols], Any],
    **text: Any,
) -> Entry:
    """The entry of a translated expression; `expected` sees the symbols of an input.

    `text` is how the answer is written, where it differs from its values with spaces between.
    """

    def checked(given: str | Iterable[object]) -> Symbols:
        found = symbols(given)
        translation.encode(found)  # refuses what the program does not take
        return found

    def symbols(given: str | Iterable[object]) -> Symbols:
        return _symbols(given, translation)

    def sample(source: random.Random, size: int) -> Symbols:
        # Few symbols are as likely as many, so that many inputs repeat some.
        words = translation.vocabulary
        some = source.sample(words, source.randint(1, len(words)))
        return source.choices(some, k=min(size, translation.longest))

    program = translation.program
    assert program.text is not None
    program = replace(program, text=replace(program.text, **text))
    return Entry(
        program=program,
        encode=lambda given: translation.encode(symbols(given)),
        decode=lambda outputs: answer(translation.decode(outputs)),
        sample=sample,
        expected=lambda given: expected(checked(given)),
    )


def alphabet(letters: int) -> str:
    """The first `letters` letters."""
    count = as_integer(letters, "letters")
    if not 1 <= count <= len(ascii_lowercase):
        raise ProgramError(f"letters is {count}; there are 1 to {len(ascii_lowercase)}")
    return ascii_lowercase[:count]


def _symbols(given: str | Iterable[object], translation: Translation) -> Symbols:
    """The symbols of "hello", "3 1 2", "3, 1, 2" or [3, 1, 2]; a word alone is its characters."""
    known = {str(word): word for word in translation.vocabulary}
    if isinstance(given, str):
        parted = given.replace(",", " ").split()
        alone = len(parted) == 1 and parted[0] not in known
        words: list[object] = [*parted[0]] if alone else [*parted]
    else:
        words = as_items(given, "the input")
    return [known.get(str(word), word) for word in words]
