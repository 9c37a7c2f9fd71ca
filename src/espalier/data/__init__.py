"""Files in, token arrays out: scaffold corpora, text, SCAN, parity, treebanks."""

from espalier.data import scan
from espalier.data.batches import fold
from espalier.data.branching import BranchingConfig, Order, branching_corpus
from espalier.data.conllu import read_conllu, treebank
from espalier.data.parity import ParityConfig, ParitySet, ParitySplit, parity_set, parity_split
from espalier.data.scaffold import (
    Examples,
    Layout,
    Reading,
    ScaffoldConfig,
    ScaffoldCorpus,
    Setting,
    scaffold_corpus,
)
from espalier.data.scaffold_counts import ScaffoldCounts, count_scaffolds
from espalier.data.scan import (
    ACTIONS,
    WORDS,
    Example,
    ScanSplit,
    check_words,
    generate_examples,
    scan_split,
    translate,
)
from espalier.data.sources import fetch
from espalier.data.stretches import Stretch, Stretches, stretches
from espalier.data.text import TEXTS, TextCorpus, text_corpus
from espalier.data.treebank import CLOSED, OPEN, ROOT, TAGS, Parsed, Treebank
from espalier.data.trees import flat_distances, pair_starts, same_length

__all__ = [
    "ACTIONS",
    "CLOSED",
    "OPEN",
    "ROOT",
    "TAGS",
    "TEXTS",
    "WORDS",
    "BranchingConfig",
    "Example",
    "Examples",
    "Layout",
    "Order",
    "ParityConfig",
    "ParitySet",
    "ParitySplit",
    "Parsed",
    "Reading",
    "ScaffoldConfig",
    "ScaffoldCorpus",
    "ScaffoldCounts",
    "ScanSplit",
    "Setting",
    "Stretch",
    "Stretches",
    "TextCorpus",
    "Treebank",
    "branching_corpus",
    "check_words",
    "count_scaffolds",
    "fetch",
    "flat_distances",
    "fold",
    "generate_examples",
    "pair_starts",
    "parity_set",
    "parity_split",
    "read_conllu",
    "same_length",
    "scaffold_corpus",
    "scan",
    "scan_split",
    "stretches",
    "text_corpus",
    "translate",
    "treebank",
]
