import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from espalier.data.treebank import Parsed, Treebank
from espalier.syntax import attachment, baselines, pairs_of
from treebanks import all_trees, banks, crosses


def gold_edges(sentence):
    kept = [place for place, tag in enumerate(sentence.tags) if tag != "PUNCT"]
    edges = {
        (min(place, head), max(place, head))
        for place, head in enumerate(sentence.heads)
        if head >= 0 and place in kept and head in kept
    }
    return kept, edges


@settings(max_examples=40)
@given(banks(least=2, most=6), st.integers(0, 99))
def test_uuas_is_that_of_the_best_of_all_trees(bank, seed):
    pairs = pairs_of(bank)
    values = np.random.default_rng(seed).random(len(pairs))
    found = {shape: attachment(bank, values, shape=shape) for shape in ("spanning", "noncrossing")}
    weight = {
        (s, l - bank.starts[s], r - bank.starts[s]): value
        for s, l, r, value in zip(pairs.sentence, pairs.left, pairs.right, values, strict=True)
    }
    for number, sentence in enumerate(bank):
        kept, gold = gold_edges(sentence)
        assert found["spanning"].edges[number] == (len(gold) if len(kept) > 1 else 0)
        if len(kept) < 2:
            continue
        for shape, one in found.items():
            trees = [
                [(kept[a], kept[b]) for a, b in edges]
                for edges in all_trees(len(kept))
                if shape == "spanning" or not crosses(edges)
            ]
            best = max(trees, key=lambda edges: sum(weight[number, l, r] for l, r in edges))
            assert one.found[number] == len(gold & set(best))
            assert 0 <= one.found[number] <= one.edges[number]


@given(banks(least=2))
def test_weights_that_know_the_tree_find_it(bank):
    pairs = pairs_of(bank)
    if not attachment(bank, np.zeros(len(pairs))).edges.sum():
        return
    whole = attachment(bank, 1 / pairs.tree, shape="spanning")
    # a tree that goes through punctuation is not whole once that is gone, but no edge is missed
    assert whole.uuas == 1
    low, high = whole.interval()
    assert (low, high) == (1, 1)


def test_baselines_are_neighbours_and_chance():
    chain = Parsed("chain", tuple("abcde"), ("NOUN",) * 5, (-1, 0, 1, 2, 3), ("dep",) * 5)
    star = Parsed("star", tuple("abcd."), (*["NOUN"] * 4, "PUNCT"), (-1, 0, 0, 0, 0), ("dep",) * 5)
    found = baselines(Treebank.of([chain, star], "two"))
    assert found["neighbours"].found.tolist() == [4, 1]
    assert found["neighbours"].edges.tolist() == [4, 3]
    assert found["random trees"].found.tolist() == [4 * 2 / 5, 3 * 2 / 4]
    assert 0 < found["random weights, no crossings"].uuas <= 1


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_any_edge_is_in_two_of_n_of_all_trees(size):
    trees = all_trees(size)
    for edge in itertools.combinations(range(size), 2):
        assert sum(edge in tree for tree in trees) * size == 2 * len(trees)


def test_a_pair_without_di_is_linked_last():
    bank = Treebank.of([Parsed("s", ("a", "b", "c"), ("NOUN",) * 3, (-1, 0, 1), ("d",) * 3)], "one")
    found = attachment(bank, np.array([0.1, np.nan, 0.2]))
    assert found.uuas == 1
