"""What came after this letter the last time, in three layers: an induction head that is exact.

Layer 1 gives each position the letter before it. Where that is the letter read now, the letter
that followed is at hand, but there may be several such places. So layer 2 numbers them: each
position counts how often its letter before has occurred as such, and how many places there are to
choose from so far. In layer 3 the last of them is the one whose number is that count.
"""

from __future__ import annotations

from operator import eq, le
from typing import Any

from espalier.rasp import (
    aggregate,
    elementwise,
    indices,
    select,
    selector_width,
    shift,
    tokens,
    translate,
)
from espalier.zoo.entry import Entry
from espalier.zoo.sequences import alphabet, sequence_entry

NONE = "-"


def induction(letters: int = 8, longest: int = 16) -> Entry:
    """Up to `longest` letters, the first `letters` of the alphabet; "-" where a letter is new."""
    before = shift(tokens, 1, NONE).named("before")
    so_far = select(indices, indices, le)
    number = selector_width(select(before, before, eq) & so_far).named("number")
    places = selector_width(select(before, tokens, eq) & so_far).named("places")
    numbered = elementwise(_pair, before, number).named("numbered")
    wanted = elementwise(_pair, tokens, places).named("wanted")
    after = aggregate(select(numbered, wanted, eq), tokens, NONE).named("after")
    return sequence_entry(
        translate(after, vocabulary=alphabet(letters), longest=longest),
        answer="".join,
        join="",
        expected=lambda word: "".join(_after(word, place) for place in range(len(word))),
    )


def _pair(one: Any, other: Any) -> tuple[Any, Any]:
    return one, other


def _after(word: list[str], place: int) -> str:
    earlier = [i for i in range(place) if word[i] == word[place]]
    return word[earlier[-1] + 1] if earlier else NONE
