"""Every pair of words of one sentence: how far apart, in the sentence and in its tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from espalier.data import CLOSED, OPEN, TAGS, Treebank, flat_distances

Array = np.ndarray
# Of a pair: both words open, both closed, one of each; `other` where either is neither.
CLASSES = ("open", "closed", "mixed", "other")
_OF_TAG = np.array([0 if tag in OPEN else 1 if tag in CLOSED else 3 for tag in TAGS])


@dataclass(frozen=True)
class TreePairs:
    """The pairs l < r of a treebank, in the order (sentence, l, r).

    `left` and `right` are places among all words of the treebank, so they index any array over
    words: `bank.tags[pairs.left]`.
    """

    bank: Treebank
    sentence: Int[Array, " P"]
    left: Int[Array, " P"]
    right: Int[Array, " P"]
    tree: Int[Array, " P"]  # edges between the two words

    def __len__(self) -> int:
        return len(self.left)

    @property
    def distance(self) -> Int[Array, " P"]:
        """r - l: 1 for neighbours."""
        apart: Int[Array, " P"] = self.right - self.left
        return apart

    @property
    def classes(self) -> Int[Array, " P"]:
        """Places in CLASSES."""
        left, right = (_OF_TAG[self.bank.tags[side]] for side in (self.left, self.right))
        same = np.where(left == right, left, 2)
        found: Int[Array, " P"] = np.where((left == 3) | (right == 3), 3, same).astype(np.int8)
        return found

    @property
    def relation(self) -> Int[Array, " P"]:
        """Of the dependent, a place in `bank.relations.names`; -1 unless one heads the other."""
        start = self.bank.starts[self.sentence]
        heads, labels = self.bank.heads, self.bank.relations.ids
        down = heads[self.right] == self.left - start
        up = heads[self.left] == self.right - start
        upward = np.where(up, labels[self.left], -1)
        found: Int[Array, " P"] = np.where(down, labels[self.right], upward)
        return found

    def where(self, chosen: Bool[Array, " P"]) -> TreePairs:
        """Some of the pairs."""
        parts = (part[chosen] for part in (self.sentence, self.left, self.right, self.tree))
        return TreePairs(self.bank, *parts)


def pairs_of(bank: Treebank) -> TreePairs:
    """All pairs of a treebank.

    >>> from espalier.data import BranchingConfig, branching_corpus
    >>> bank = branching_corpus(BranchingConfig("left", sentences=20, tests=20)).bank
    >>> len(pairs_of(bank)) == bank.pairs
    True
    """
    upper = {n: np.triu_indices(n, 1) for n in np.unique(bank.lengths).tolist()}
    counts = bank.lengths * (bank.lengths - 1) // 2
    sentence = np.repeat(np.arange(len(bank), dtype=np.int32), counts)
    start = bank.starts[sentence].astype(np.int32)
    sides = (
        np.concatenate([upper[n][side] for n in bank.lengths.tolist()]).astype(np.int32)
        for side in (0, 1)
    )
    left, right = (start + side for side in sides)
    return TreePairs(bank, sentence, left, right, flat_distances(bank))
