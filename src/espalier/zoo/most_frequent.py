"""The letter that occurs most often, at every position, in four layers.

Count each letter; keep the positions whose count no other beats; of these keep the ones whose
letter no other precedes in the alphabet; read the letter that they share.
"""

from __future__ import annotations

from operator import eq, gt

from espalier.rasp import (
    aggregate,
    always,
    elementwise,
    exists,
    select,
    selector_width,
    tokens,
    translate,
)
from espalier.zoo.entry import Entry
from espalier.zoo.sequences import alphabet, sequence_entry


def most_frequent(letters: int = 26, longest: int = 32) -> Entry:
    """Of up to `longest` letters, the most frequent; of several, the first of the alphabet."""
    count = selector_width(select(tokens, tokens, eq)).named("count")
    beaten = exists(select(count, count, gt)).named("beaten")
    rival = elementwise(lambda lost, letter: "" if lost else letter, beaten, tokens).named("rival")
    preceded = exists(select(rival, tokens, lambda other, own: "" < other < own)).named("preceded")
    chosen = elementwise(lambda letter, lost: letter != "" and not lost, rival, preceded)
    answer = aggregate(select(chosen.named("chosen"), always, eq), tokens).named("answer")
    return sequence_entry(
        translate(answer, vocabulary=alphabet(letters), longest=longest),
        answer=lambda found: found[0],
        choose="first",
        expected=lambda word: min(word, key=lambda letter: (-word.count(letter), letter)),
    )
