"""How often each letter occurs in the input, at each of its positions, in one layer."""

from __future__ import annotations

from operator import eq

from espalier.rasp import select, selector_width, tokens, translate
from espalier.zoo.entry import Entry
from espalier.zoo.sequences import alphabet, sequence_entry


def histogram(letters: int = 26, longest: int = 32) -> Entry:
    """Counts in up to `longest` letters, the first `letters` of the alphabet."""
    count = selector_width(select(tokens, tokens, eq)).named("count")
    return sequence_entry(
        translate(count, vocabulary=alphabet(letters), longest=longest),
        answer=list,
        expected=lambda word: [word.count(letter) for letter in word],
        example="hello",
    )
