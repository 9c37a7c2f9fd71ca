"""Scaffold corpora as the papers' authors made them: what is placed later overwrites the rest.

Facts of the generator that they published (github.com/nsaphra/acd, synthetic_range_data.py, 2019);
the code here is our own. A phrase has k + 2 tokens, the scaffold is its first k. A rule is `open
scaffold close` and the phrase's last token, a copy is the whole phrase; either takes the place of
k + 1 tokens, at a multiple of k + 2 of the text as it is by then. So the text grows, what stands
behind moves off those multiples, and rules lose their beginning or their end. Left out: the 1,001st
plain token, and what the text has grown by, which is cut off its end: all models read as much.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import chain
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

if TYPE_CHECKING:
    from espalier.data.scaffold import ScaffoldConfig

Array = np.ndarray


class GrowingText:
    """A text whose stretches are replaced by longer ones, in blocks, so that little moves."""

    def __init__(self, tokens: Int[Array, " T"]) -> None:
        size = isqrt(len(tokens))
        self.blocks = [part.tolist() for part in np.split(tokens, range(size, len(tokens), size))]
        self.ends = np.cumsum([len(block) for block in self.blocks])

    def replace(self, start: int, length: int, new: list[int]) -> None:
        """Put `new` in the place of `length` tokens, of fewer at the text's end."""
        first = bisect_right(self.ends, start)
        block = self.blocks[first]
        at = start - (int(self.ends[first - 1]) if first else 0)
        for later in range(first + 1, len(self.blocks)):  # the whole stretch into one block
            short = at + length - len(block)
            if short <= 0:
                break
            moved = self.blocks[later][:short]
            del self.blocks[later][:short]
            block += moved
            self.ends[first:later] += len(moved)
        grown = len(new) - len(block[at : at + length])
        block[at : at + length] = new
        self.ends[first:] += grown

    def tokens(self) -> Int[Array, " T"]:
        """The text as it is now."""
        return np.fromiter(chain.from_iterable(self.blocks), dtype=np.int32)


def lay_over(
    config: ScaffoldConfig, scaffolds: Int[Array, "S K"], rng: np.random.Generator
) -> tuple[Int[Array, " T"], Int[Array, " R"]]:
    """Training tokens, and the starts of the rules that are still complete."""
    k, often = config.length, config.occurrences
    tails = rng.integers(config.vocabulary, size=(len(scaffolds), 2), dtype=np.int32)
    text = GrowingText(rng.integers(config.vocabulary, size=config.tokens, dtype=np.int32))
    places = rng.choice(config.slots, size=config.rules * often, replace=False) * (k + 2)
    for rule, (first, *others) in enumerate(places.reshape(config.rules, often).tolist()):
        scaffold, tail = (part[rule % len(scaffolds)].tolist() for part in (scaffolds, tails))
        text.replace(first, k + 1, [config.open, *scaffold, config.close, tail[1]])
        for place in others:
            text.replace(place, k + 1, scaffold + tail)
    tokens = text.tokens()[: config.tokens]
    return tokens, whole_rules(config, scaffolds, tokens)


def whole_rules(
    config: ScaffoldConfig, scaffolds: Int[Array, "S K"], tokens: Int[Array, " T"]
) -> Int[Array, " R"]:
    """Where `open`, one of the scaffolds and `close` follow each other."""
    k = config.length
    opens = np.flatnonzero(tokens[: -(k + 1)] == config.open)
    opens = opens[tokens[opens + k + 1] == config.close]
    inside = tokens[opens[:, None] + 1 + np.arange(k)]
    found: Int[Array, " R"] = opens[(inside[:, None] == scaffolds).all(-1).any(-1)]
    return found
