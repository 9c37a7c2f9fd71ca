"""A sentence taken apart by the model of English that the package brings along."""

from __future__ import annotations

from espalier.data.treebank import ROOT, Parsed
from espalier.decomposition import interdependence
from espalier.nets.lstm import english_model

# The papers' own example, with its dependencies.
SOCRATES = Parsed(
    "Socrates",
    ("Socrates", "asked", "the", "student", "trick", "questions"),
    ("PROPN", "VERB", "DET", "NOUN", "NOUN", "NOUN"),
    (1, ROOT, 3, 1, 5, 1),
    ("nsubj", "root", "det", "iobj", "compound", "obj"),
)


def sentence_block(sentence: Parsed = SOCRATES) -> str:
    """The sentence with its strongest pairs, its dependencies, and every pair in a table."""
    pairs = interdependence(english_model(), sentence.words)
    return pairs.beside(sentence)._repr_html_()
