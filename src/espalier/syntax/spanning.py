"""The heaviest tree over the words of a sentence, whatever it crosses or without crossings.

All functions take a batch of symmetric weights, (B, n, n), and return B trees as n - 1 edges
(low, high), (B, n - 1, 2).
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

Array = np.ndarray
Weights = Float[Array, "B n n"]
Edges = Int[Array, "B edges 2"]


def heaviest_trees(weights: Weights) -> Edges:
    """Maximum spanning trees, by Prim's algorithm: a word at a time, all sentences at once."""
    rows, count, _ = weights.shape
    every = np.arange(rows)
    best, link = weights[:, 0].astype(np.float64), np.zeros((rows, count), dtype=np.int64)
    best[:, 0] = -np.inf
    outside = np.ones((rows, count), dtype=bool)
    outside[:, 0] = False
    edges = np.empty((rows, count - 1, 2), dtype=np.int64)
    for step in range(count - 1):
        new = np.where(outside, best, -np.inf).argmax(axis=1)
        # where all that are left weigh -inf, argmax may point inside
        stuck = ~outside[every, new]
        new[stuck] = outside[stuck].argmax(axis=1)
        edges[:, step, 0], edges[:, step, 1] = new, link[every, new]
        outside[every, new] = False
        row = weights[every, new]
        closer = row > best
        best, link = np.where(closer, row, best), np.where(closer, new[:, None], link)
    edges.sort(axis=2)
    return edges


def heaviest_noncrossing_trees(weights: Weights) -> Edges:
    """The heaviest trees none of whose edges cross, in O(n³).

    Rooted at any word that no edge spans, such a tree is projective, so that this is the best
    projective tree with directions left out. With C[i, j] the best tree over the words i..j and
    T[i, j] the best one that has the edge (i, j):

        T[i, j] = w[i, j] + max_k C[i, k] + C[k+1, j]       i <= k < j: the edge joins two trees
        C[i, j] = max_k T[i, k] + C[k, j]                   i < k <= j: k is i's furthest neighbour
    """
    joined, furthest = _best_splits(weights)
    rows, count, _ = weights.shape
    # What the best tree is made of, found from the widest span down.
    whole, edge = np.zeros((2, rows, count, count), dtype=bool)
    whole[:, 0, count - 1] = True
    for span in range(count - 1, 0, -1):
        b, i = np.nonzero(np.diagonal(whole, span, axis1=1, axis2=2))
        k = i + furthest[b, i, span]
        edge[b, i, k] = whole[b, k, i + span] = True
        b, i = np.nonzero(np.diagonal(edge, span, axis1=1, axis2=2))
        k = i + joined[b, i, span]
        whole[b, i, k] = whole[b, k + 1, i + span] = True
    return np.argwhere(edge)[:, 1:].reshape(rows, count - 1, 2)


def _best_splits(weights: Weights) -> tuple[Int[Array, "B n n"], Int[Array, "B n n"]]:
    """k - i of the best T and C of the span from i, (B, i, j - i)."""
    rows, count, _ = weights.shape
    # C and T by where a span begins and how wide it is; C also by where it ends.
    trees, edged, ending = np.zeros((3, rows, count, count))
    joined, furthest = np.zeros((2, rows, count, count), dtype=np.int64)
    for span in range(1, count):
        here = np.s_[:, : count - span]
        after = ending[:, span:, :span][:, :, ::-1]  # over j - span + 1 .. j, then narrower
        options = trees[here][:, :, :span] + after
        joined[here][:, :, span] = options.argmax(axis=2)
        weight = np.diagonal(weights, span, axis1=1, axis2=2)
        edged[here][:, :, span] = weight + options.max(axis=2)
        options = edged[here][:, :, 1 : span + 1] + after
        furthest[here][:, :, span] = options.argmax(axis=2) + 1
        trees[here][:, :, span] = ending[:, span:, span] = options.max(axis=2)
    return joined, furthest
