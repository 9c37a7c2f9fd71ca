"""Files in, token arrays out: scaffold corpora, text, SCAN, parity, treebanks."""

from espalier.data.conllu import treebank
from espalier.data.parity import ParityConfig, ParitySet, ParitySplit, parity_set, parity_split
from espalier.data.scaffold import (
    ScaffoldConfig,
    ScaffoldCorpus,
    rule_frequency_grid,
    scaffold_corpus,
)
from espalier.data.scaffold_counts import ScaffoldCounts, count_scaffolds
from espalier.data.scan import ScanSplit, generate_examples, scan_split
from espalier.data.sources import fetch
from espalier.data.text import TextCorpus, text_corpus
from espalier.data.treebank import ROOT, Parsed, Treebank

__all__ = [
    "ROOT",
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
    "count_scaffolds",
    "fetch",
    "generate_examples",
    "parity_set",
    "parity_split",
    "rule_frequency_grid",
    "scaffold_corpus",
    "scan_split",
    "text_corpus",
    "treebank",
]
