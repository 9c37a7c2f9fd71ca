"""Treebanks, single dependences and blocks of pairs, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from espalier.show.pairs_text import unknown_words
from espalier.show.text import count, shorten

if TYPE_CHECKING:
    from espalier.data import Treebank
    from espalier.decomposition import Dependence, PairBlock, WordSets

SHOWN, LONGEST_SENTENCE = 3, 90


def treebank_text(bank: Treebank) -> str:
    """How large it is, and its first sentences."""
    head = (
        f"{bank.name}: {count(len(bank), 'sentence')}, {count(len(bank.tags), 'word')}, "
        f"{count(bank.pairs, 'pair')} of words"
    )
    few = [bank[n] for n in range(min(SHOWN, len(bank)))]
    lines = [shorten(" ".join(sentence.words), LONGEST_SENTENCE) for sentence in few]
    more = ["..."] if len(bank) > SHOWN else []
    return "\n".join([head, *(f"  {line}" for line in [*lines, *more])])


def dependence_text(found: Dependence) -> str:
    """The number, of which sets, read where."""
    a, b = (" ".join(found.words[place] for place in some) for some in (found.a, found.b))
    after = f"after {found.words[found.at]!r} ({found.at}), {found.space}"
    note = f", {unknown_words(found)}" if found.unknown else ""
    return f"DI({a!r}, {b!r}) = {float(found):.4f}   {after}{note}"


def sets_text(found: WordSets) -> str:
    """How many sets, and those that interact most."""
    table = found.to_frame()
    most = table.loc[table["index"].abs().sort_values(ascending=False).index[:SHOWN]]
    note = f", {unknown_words(found)}" if found.unknown else ""
    head = f"{count(len(table), 'set')} of 2 to {found.order} words, {found.space}{note}"
    lines = [f"  {row['index']:+.4f}  {row['words']}" for row in most.to_dict("records")]
    return "\n".join([head, *lines])


def block_text(block: PairBlock) -> str:
    """How many pairs of which sentences, and their mean."""
    last = block.first + len(block.lengths) - 1
    mean = np.nanmean(block.value) if len(block) > block.undefined else np.nan
    return (
        f"{len(block):,} pairs of sentences {block.first:,} to {last:,}: mean DI {mean:.4f}, "
        f"{block.undefined:,} undefined, {block.unknown:,} unknown words"
    )
