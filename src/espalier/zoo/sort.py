"""Numbers in rising order, in two layers.

Each position counts the positions that come before it in the answer: those with a smaller number,
or with the same number further left. That count is where its number goes.
"""

from __future__ import annotations

from operator import eq, lt

from espalier.language import check_range
from espalier.rasp import (
    aggregate,
    categorical,
    elementwise,
    indices,
    select,
    selector_width,
    tokens,
    translate,
)
from espalier.zoo.entry import Entry
from espalier.zoo.sequences import sequence_entry


def sort(values: int = 10, longest: int = 16) -> Entry:
    """Sorts up to `longest` numbers from 0 to `values` - 1."""
    key = elementwise(lambda number, place: (number, place), tokens, indices).named("key")
    rank = selector_width(select(key, key, lt)).named("rank")
    ordered = categorical(aggregate(select(rank, indices, eq), tokens)).named("ordered")
    numbers = range(check_range("values", values))
    return sequence_entry(
        translate(ordered, vocabulary=numbers, longest=longest),
        answer=list,
        expected=sorted,
        example="3 1 2",
    )
