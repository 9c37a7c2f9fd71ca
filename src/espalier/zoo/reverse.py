"""A word read backwards, in two layers: count the letters, then look as far from the other end."""

from __future__ import annotations

from operator import eq

from espalier.rasp import aggregate, indices, length, select, tokens, translate
from espalier.zoo.entry import Entry
from espalier.zoo.sequences import alphabet, sequence_entry


def reverse(letters: int = 26, longest: int = 32) -> Entry:
    """Reverses up to `longest` letters, the first `letters` of the alphabet."""
    mirror = (length - indices - 1).named("mirror")
    backwards = aggregate(select(indices, mirror, eq), tokens).named("backwards")
    return sequence_entry(
        translate(backwards, vocabulary=alphabet(letters), longest=longest),
        answer="".join,
        join="",
        expected=lambda word: "".join(reversed(word)),
    )
