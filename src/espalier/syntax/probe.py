"""Interdependence as a structural probe without parameters: the tree that DI alone suggests.

The heaviest tree over a sentence's words, with DI as weight, is compared with the treebank's. Its
score is UUAS, the share of the treebank's edges that it has, directions and labels left out.
Convention: words tagged PUNCT are taken out before a tree is grown, edges that touch them are not
counted, and the score is over all edges of all sentences with two words or more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int, Real

from espalier.data import ROOT, TAGS, Treebank, pair_starts, same_length
from espalier.syntax.resampling import bootstrap_means
from espalier.syntax.spanning import Edges, heaviest_noncrossing_trees, heaviest_trees

Array = np.ndarray
Shape = Literal["spanning", "noncrossing"]
GROW: dict[Shape, Callable[[Float[Array, "B n n"]], Edges]] = {
    "spanning": heaviest_trees,
    "noncrossing": heaviest_noncrossing_trees,
}
PUNCTUATION = TAGS.index("PUNCT")


@dataclass(frozen=True)
class Attachment:
    """Edges of the treebank that were found, and all there are, for each sentence."""

    found: Float[Array, " S"]
    edges: Int[Array, " S"]

    @property
    def uuas(self) -> float:
        """The share found, over all edges; NaN where there is none."""
        return float(self.found.sum() / self.edges.sum()) if self.edges.any() else np.nan

    def interval(self) -> tuple[float, float]:
        """A 95% interval by resampling sentences."""
        if not self.edges.any():
            return np.nan, np.nan
        bounds = bootstrap_means(
            self.found[:, None].astype(float), self.edges[:, None].astype(float)
        )
        return float(bounds.low[0]), float(bounds.high[0])


@dataclass(frozen=True)
class _Group:
    """Sentences with the same number of remaining words; `places` are those words, (B, m)."""

    sentences: Int[Array, " B"]
    places: Int[Array, "B m"]
    gold: Bool[Array, "B m m"]

    @property
    def size(self) -> int:
        return int(self.places.shape[1])


def attachment(
    bank: Treebank, values: Float[Array, " P"], *, shape: Shape = "noncrossing"
) -> Attachment:
    """Edges that the heaviest trees share with the treebank's; `values` are in the order of pairs.

    >>> from espalier.data import BranchingConfig, branching_corpus
    >>> bank = branching_corpus(BranchingConfig("left", sentences=20, tests=20)).bank
    >>> from espalier.syntax import pairs_of
    >>> nearness = 1 / pairs_of(bank).distance
    >>> 0 <= attachment(bank, nearness).uuas <= 1
    True
    """
    starts, lengths = pair_starts(bank.lengths), bank.lengths

    def grow(group: _Group) -> Real[Array, " B"]:
        low, high = np.triu_indices(group.size, 1)
        left, right = group.places[:, low], group.places[:, high]
        before = left * (2 * lengths[group.sentences][:, None] - left - 1) // 2
        flat = starts[group.sentences][:, None] + before + (right - left - 1)
        weights = np.zeros((len(flat), group.size, group.size))
        weights[:, low, high] = weights[:, high, low] = values[flat]
        # a pair without a DI is the last to be linked
        return _shared(group, GROW[shape](np.nan_to_num(weights, nan=-1e9)))

    return _over(bank, grow)


def baselines(bank: Treebank, *, seed: int = 0) -> dict[str, Attachment]:
    """Baselines without a network: neighbours linked, and trees drawn at random.

    Linking each word to the next is what both left- and right-branching are without directions.
    A tree drawn uniformly from all has any given edge with probability 2 / n: no draw is needed.
    """
    rng = np.random.default_rng(seed)

    def chain(group: _Group) -> Real[Array, " B"]:
        place = np.arange(group.size - 1)
        edges = np.stack([place, place + 1], axis=1)
        return _shared(group, np.broadcast_to(edges, (len(group.sentences), *edges.shape)))

    def uniform(group: _Group) -> Real[Array, " B"]:
        edges: Float[Array, " B"] = np.triu(group.gold).sum(axis=(1, 2)) * (2 / group.size)
        return edges

    def noncrossing(group: _Group) -> Real[Array, " B"]:
        weights = rng.random(group.gold.shape)
        return _shared(group, heaviest_noncrossing_trees(weights))

    return {
        "neighbours": _over(bank, chain),
        "random trees": _over(bank, uniform),
        "random weights, no crossings": _over(bank, noncrossing),
    }


def _shared(group: _Group, edges: Edges) -> Real[Array, " B"]:
    rows = np.arange(len(edges))[:, None]
    found: Int[Array, " B"] = group.gold[rows, edges[..., 0], edges[..., 1]].sum(axis=1)
    return found


def _over(bank: Treebank, grow: Callable[[_Group], Real[Array, " B"]]) -> Attachment:
    found, edges = np.zeros(len(bank)), np.zeros(len(bank), dtype=np.int64)
    for group in _groups(bank):
        edges[group.sentences] = np.triu(group.gold).sum(axis=(1, 2))
        found[group.sentences] = grow(group)
    return Attachment(found, edges)


def _groups(bank: Treebank) -> Iterator[_Group]:
    """Sentences by the number of words that are not punctuation, two at least."""
    kept = bank.tags != PUNCTUATION
    before = np.concatenate([[0], np.cumsum(kept)])  # kept words before each word
    firsts = before[bank.starts]
    sizes, all_kept = np.diff(firsts), np.flatnonzero(kept)
    for some in same_length(sizes):
        size = int(sizes[some[0]])
        words = all_kept[firsts[some][:, None] + np.arange(size)]
        start = bank.starts[some][:, None]
        heads = bank.heads[words]
        above = np.where(heads == ROOT, 0, heads + start)
        linked = (heads != ROOT) & kept[above]
        b, child = np.nonzero(linked)
        parent = before[above[b, child]] - firsts[some][b]
        gold = np.zeros((len(some), size, size), dtype=bool)
        gold[b, child, parent] = gold[b, parent, child] = True
        yield _Group(some, words - start, gold)
