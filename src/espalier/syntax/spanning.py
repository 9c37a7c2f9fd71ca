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
    """Maximum spanning trees: one forest over the words of all sentences."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    rows, count, _ = weights.shape
    low, high = np.triu_indices(count, 1)
    first = count * np.arange(rows)[:, None]
    # scipy finds the lightest trees and takes 0 for no edge: costs are from 1 upwards.
    costs = 1 + weights.max() - weights[:, low, high]
    places = ((first + low).ravel(), (first + high).ravel())
    forest = minimum_spanning_tree(csr_array((costs.ravel(), places), shape=(rows * count,) * 2))
    edges = np.stack(forest.nonzero(), axis=1)
    edges = edges[np.argsort(edges[:, 0], kind="stable")]
    found: Edges = edges.reshape(rows, count - 1, 2) % count
    return found


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
