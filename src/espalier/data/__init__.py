"""Files in, token arrays out: scaffold corpora, WikiText and other text."""

from espalier.data.scaffold import (
    ScaffoldConfig,
    ScaffoldCorpus,
    rule_frequency_grid,
    scaffold_corpus,
)
from espalier.data.scaffold_counts import ScaffoldCounts, count_scaffolds

__all__ = [
    "ScaffoldConfig",
    "ScaffoldCorpus",
    "ScaffoldCounts",
    "count_scaffolds",
    "rule_frequency_grid",
    "scaffold_corpus",
]
