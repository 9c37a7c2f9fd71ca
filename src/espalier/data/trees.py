"""Distances in trees, for all pairs of words at once, and where pairs lie in flat arrays.

The ancestors of u (itself among them) are a path to the root; those that u and v share are the
path from their lowest common ancestor. With a(u) = all of u's and a(u, v) = those shared,
d(u, v) = a(u) + a(v) - 2 a(u, v): one product of the ancestor matrix with its transpose.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float, Int

from espalier.data.treebank import ROOT, Treebank

Array = np.ndarray
AT_ONCE = 1 << 22  # entries of the matrices that are made together


def ancestors(heads: Int[Array, "B n"]) -> Bool[Array, "B n n"]:
    """Whether word a is v or above v, at [b, v, a]; `heads` are places, ROOT for a root."""
    rows, count = heads.shape
    held = np.zeros((rows, count, count), dtype=bool)
    held[:, np.arange(count), np.arange(count)] = True
    above = np.where(heads == ROOT, count, heads)
    # `above` is 2^k steps up; past the root is an extra place that leads to itself
    above = np.concatenate([above, np.full((rows, 1), count)], axis=1)
    held = np.concatenate([held, np.zeros((rows, 1, count), dtype=bool)], axis=1)
    while (above[:, :-1] != count).any():
        held |= np.take_along_axis(held, above[:, :, None], axis=1)
        above = np.take_along_axis(above, above, axis=1)
    return held[:, :-1]


def tree_distances(heads: Int[Array, "B n"]) -> Int[Array, "B n n"]:
    """Edges between any two words of trees of one size."""
    above: Float[Array, "B n n"] = ancestors(heads).astype(np.float32)
    shared = above @ above.transpose(0, 2, 1)
    own = np.diagonal(shared, axis1=1, axis2=2)
    found: Int[Array, "B n n"] = own[:, :, None] + own[:, None, :] - 2 * shared
    return found.astype(np.int16)


def pair_starts(lengths: Int[Array, " S"]) -> Int[Array, " S_1"]:
    """Where each sentence's pairs begin in a flat array; the last entry is the number of pairs."""
    counts = lengths.astype(np.int64) * (lengths - 1) // 2
    return np.concatenate([[0], np.cumsum(counts)])


def same_length(lengths: Int[Array, " S"]) -> Iterator[Int[Array, " B"]]:
    """Sentences of one length together, as many as `AT_ONCE` allows; single words are left out."""
    order = np.argsort(lengths, kind="stable")
    sizes, firsts = np.unique(lengths[order], return_index=True)
    for size, some in zip(sizes.tolist(), np.split(order, firsts[1:]), strict=True):
        if size > 1:
            step = max(1, AT_ONCE // (size * size))
            yield from (some[at : at + step] for at in range(0, len(some), step))


def flat_distances(bank: Treebank) -> Int[Array, " P"]:
    """Tree distance of every pair l < r, in the order (sentence, l, r)."""
    lengths = bank.lengths
    places = pair_starts(lengths)
    found = np.empty(places[-1], dtype=np.int16)
    for some in same_length(lengths):
        size = int(lengths[some[0]])
        heads = bank.heads[bank.starts[some][:, None] + np.arange(size)]
        upper = np.triu_indices(size, 1)
        inside = np.arange(len(upper[0]))
        found[places[some][:, None] + inside] = tree_distances(heads)[:, upper[0], upper[1]]
    return found
