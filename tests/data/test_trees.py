import numpy as np
from hypothesis import given
from numpy.testing import assert_array_equal

from espalier.data.trees import flat_distances, pair_starts, tree_distances
from treebanks import banks, heads, slow_distances


@given(heads(most=12))
def test_distances_are_those_of_networkx(tree):
    assert_array_equal(tree_distances(np.array([tree]))[0], slow_distances(tree))


def test_a_long_chain():
    tree = np.array([[-1, *range(199)]])
    assert_array_equal(tree_distances(tree)[0, 0], np.arange(200))


@given(banks())
def test_flat_distances_lie_sentence_by_sentence(bank):
    expected = [slow_distances(one.heads)[np.triu_indices(len(one), 1)] for one in bank]
    assert_array_equal(flat_distances(bank), np.concatenate(expected))
    assert pair_starts(bank.lengths)[-1] == bank.pairs
