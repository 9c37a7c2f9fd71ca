"""How long the sentences of UD English-EWT 2.15 are, for timings that need no treebank."""

from __future__ import annotations

import random

# Sentences of 1, 2, 3, ... words, multiword tokens counted by their words.
# fmt: off
COUNTS = (
    772, 899, 778, 561, 622, 670, 652, 663, 636, 633, 648, 615, 569, 561, 560, 511, 469,
    452, 440, 427, 359, 377, 369, 312, 262, 260, 209, 214, 215, 167, 166, 138, 139, 125, 98,
    93, 99, 79, 85, 67, 61, 70, 49, 40, 38, 31, 27, 35, 29, 28, 19, 29, 13, 16, 13, 8, 14,
    7, 8, 11, 4, 11, 3, 6, 7, 11, 3, 8, 1, 6, 4, 4, 2, 4, 3, 5, 2, 0, 1, 1, 2, 0, 1, 0, 2,
    0, 0, 1, 2, 1, 1, 0, 0, 0, 2, 0, 1, 0, 1, 0, 0, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
)
# fmt: on


def treebank_lengths() -> list[int]:
    """A length for each of 16,622 sentences, 3,040,242 pairs, in an order of their own."""
    lengths = [length for length, count in enumerate(COUNTS, start=1) for _ in range(count)]
    random.Random(0).shuffle(lengths)
    return lengths


def random_sentences(lengths: list[int], types: int) -> list[list[int]]:
    """Words by Zipf's law."""
    source = random.Random(0)
    weights = [1 / (rank + 3) for rank in range(types)]
    return [source.choices(range(types), weights, k=n) for n in lengths]
