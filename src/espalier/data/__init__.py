"""Files in, token arrays out: scaffold corpora, WikiText and other text."""

from espalier.data.scaffold import (
    ScaffoldConfig,
    ScaffoldCorpus,
    rule_frequency_grid,
    scaffold_corpus,
)
from espalier.data.scaffold_counts import ScaffoldCounts, count_scaffolds
from espalier.data.sources import fetch
from espalier.data.text import TextCorpus, text_corpus

__all__ = [
    "ScaffoldConfig",
    "ScaffoldCorpus",
    "ScaffoldCounts",
    "TextCorpus",
    "count_scaffolds",
    "fetch",
    "rule_frequency_grid",
    "scaffold_corpus",
    "text_corpus",
]
