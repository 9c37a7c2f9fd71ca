"""Does interdependence follow syntax? Pairs of words of a treebank, with their DI.

A table of all pairs, means by distance, the effect of syntax in one number, and trees grown from
interdependence alone. Treebanks themselves are in `espalier.data`; figures are in
`espalier.experiments`.
"""

from espalier.syntax.effects import TREE, Effect, effect_of_syntax, frequency_correlations
from espalier.syntax.layers import layer_scores
from espalier.syntax.networks import read_treebank
from espalier.syntax.pairs import CLASSES, TreePairs, pairs_of
from espalier.syntax.probe import Attachment, attachment, baselines
from espalier.syntax.reading import describe_words
from espalier.syntax.resampling import bootstrap_means
from espalier.syntax.scores import SPACES, Scores, pair_scores
from espalier.syntax.spanning import heaviest_noncrossing_trees, heaviest_trees
from espalier.syntax.strata import by_distance, by_stratum
from espalier.syntax.summary import Row, baseline_rows, probe, summarise
from espalier.syntax.writing import PAIRS_AT_ONCE, write_pairs

__all__ = [
    "CLASSES",
    "PAIRS_AT_ONCE",
    "SPACES",
    "TREE",
    "Attachment",
    "Effect",
    "Row",
    "Scores",
    "TreePairs",
    "attachment",
    "baseline_rows",
    "baselines",
    "bootstrap_means",
    "by_distance",
    "by_stratum",
    "describe_words",
    "effect_of_syntax",
    "frequency_correlations",
    "heaviest_noncrossing_trees",
    "heaviest_trees",
    "layer_scores",
    "pair_scores",
    "pairs_of",
    "probe",
    "read_treebank",
    "summarise",
    "write_pairs",
]
