"""Files in, token arrays out: scaffold corpora, text, SCAN, parity, treebanks."""

from espalier.data.batches import fold
from espalier.data.conllu import treebank
from espalier.data.parity import ParityConfig, ParitySet, ParitySplit, parity_set, parity_split
from espalier.data.scaffold import (
    Examples,
    ScaffoldConfig,
    ScaffoldCorpus,
    rule_frequency_grid,
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
from espalier.data.text import TextCorpus, text_corpus
from espalier.data.treebank import ROOT, Parsed, Treebank

__all__ = [
    "ACTIONS",
    "ROOT",
    "WORDS",
    "Example",
    "Examples",
    "ParityConfig",
    "ParitySet",
    "ParitySplit",
    "Parsed",
    "ScaffoldConfig",
    "ScaffoldCorpus",
    "ScaffoldCounts",
    "ScanSplit",
    "TextCorpus",
    "Treebank",
    "check_words",
    "count_scaffolds",
    "fetch",
    "fold",
    "generate_examples",
    "parity_set",
    "parity_split",
    "rule_frequency_grid",
    "scaffold_corpus",
    "scan_split",
    "text_corpus",
    "translate",
    "treebank",
]
