"""Random trees and treebanks, and slow, obvious answers about them."""

import itertools

import networkx as nx
import numpy as np
from hypothesis import strategies as st

from espalier.data.treebank import ROOT, TAGS, Parsed, Treebank

WORDS = ("a", "bee", "sees", "the", "sea", "now", ".")


@st.composite
def heads(draw, least=1, most=9):
    """Heads of a random tree: every word but one hangs on one that was placed before it."""
    size = draw(st.integers(least, most))
    order = draw(st.permutations(range(size)))
    found = [ROOT] * size
    for place in range(1, size):
        found[order[place]] = order[draw(st.integers(0, place - 1))]
    return tuple(found)


@st.composite
def sentences(draw, least=1, most=9):
    tree = draw(heads(least, most))
    some = {"min_size": len(tree), "max_size": len(tree)}
    return Parsed(
        "s",
        tuple(draw(st.lists(st.sampled_from(WORDS), **some))),
        tuple(draw(st.lists(st.sampled_from(TAGS), **some))),
        tree,
        tuple("root" if head == ROOT else draw(st.sampled_from(("dep", "obj"))) for head in tree),
    )


def banks(least=1, most=9, count=6):
    return st.lists(sentences(least, most), min_size=1, max_size=count).map(
        lambda found: Treebank.of(found, "random")
    )


def random_bank(rng, sentences=60):
    """Larger than `banks` are: trees grown from their first word."""
    found = []
    for number in range(sentences):
        size = int(rng.integers(4, 12))
        heads = [-1, *(int(rng.integers(place)) for place in range(1, size))]
        tags = rng.choice(["NOUN", "VERB", "DET", "ADP", "PUNCT"], size=size)
        words = rng.choice(list("abcdefg"), size=size)
        found.append(Parsed(str(number), tuple(words), tuple(tags), tuple(heads), ("dep",) * size))
    return Treebank.of(found, "random")


def graph(tree):
    found = nx.Graph()
    found.add_nodes_from(range(len(tree)))
    found.add_edges_from((place, head) for place, head in enumerate(tree) if head != ROOT)
    return found


def slow_distances(tree):
    lengths = dict(nx.all_pairs_shortest_path_length(graph(tree)))
    return np.array([[lengths[u][v] for v in range(len(tree))] for u in range(len(tree))])


def all_trees(size):
    """Every tree over so many words, as sorted edges, by its Prüfer sequence."""
    if size == 2:
        return [((0, 1),)]
    return [
        tuple(sorted(tuple(sorted(edge)) for edge in nx.from_prufer_sequence(list(code)).edges))
        for code in itertools.product(range(size), repeat=size - 2)
    ]


def crosses(edges):
    return any(a < c < b < d for a, b in edges for c, d in edges)


def conllu(sentence, *, name="s"):
    """The sentence as CoNLL-U lines."""
    rows = [f"# sent_id = {name}"]
    parts = zip(sentence.words, sentence.tags, sentence.heads, sentence.relations, strict=True)
    for place, (word, tag, head, relation) in enumerate(parts):
        columns = [place + 1, word, word, tag, "_", "_", head + 1, relation, "_", "_"]
        rows.append("\t".join(map(str, columns)))
    return [row + "\n" for row in rows] + ["\n"]
