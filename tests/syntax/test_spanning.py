from functools import cache

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from espalier.syntax.spanning import heaviest_noncrossing_trees, heaviest_trees
from treebanks import all_trees, crosses

trees_of = cache(all_trees)


@st.composite
def weights(draw, least=2, most=6):
    """Symmetric weights; small whole numbers, so that ties occur."""
    size, count = draw(st.integers(least, most)), draw(st.integers(1, 3))
    flat = draw(st.lists(st.integers(-3, 5), min_size=count * size**2, max_size=count * size**2))
    given_weights = np.array(flat, dtype=float).reshape(count, size, size)
    return given_weights + given_weights.transpose(0, 2, 1)


def total(one, edges):
    return sum(one[low, high] for low, high in edges)


@settings(max_examples=60)
@given(weights())
def test_the_heaviest_of_all_trees(batch):
    every = trees_of(batch.shape[1])
    flat = [edges for edges in every if not crosses(edges)]
    for grow, candidates in ((heaviest_trees, every), (heaviest_noncrossing_trees, flat)):
        for one, edges in zip(batch, grow(batch), strict=True):
            found = tuple(sorted(map(tuple, edges.tolist())))
            assert found in candidates
            assert total(one, found) == max(total(one, edges) for edges in candidates)


@given(weights(most=14))
def test_larger_trees_are_trees_and_neither_is_beaten_by_the_other(batch):
    import networkx as nx

    for one, free, flat in zip(
        batch, heaviest_trees(batch), heaviest_noncrossing_trees(batch), strict=True
    ):
        for edges in (free, flat):
            graph = nx.Graph(edges.tolist())
            assert nx.is_tree(graph)
            assert len(graph) == len(one)
        assert not crosses(flat.tolist())
        assert total(one, free) >= total(one, flat)
        if not crosses(free.tolist()):
            assert total(one, free) == total(one, flat)
        oracle = nx.maximum_spanning_tree(nx.from_numpy_array(one + 100), algorithm="kruskal")
        oracle_total = sum(w - 100 for _, _, w in oracle.edges(data="weight"))
        assert total(one, free) == oracle_total
