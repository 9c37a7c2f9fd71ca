"""Take networks apart: contextual decomposition, and the interdependence of words.

`calls` has the two main functions. For LSTM language models `recursion` is the papers' recursion
for any focus and allocation, and `all_pairs` gives every pair of words at once; for any network
`on_networks` is the entry point, `rules` says how parts go through it, and `attribution` has the
methods that are no decompositions.
"""

from espalier.decomposition.all_pairs import AllPairs, HiddenStates
from espalier.decomposition.allocations import (
    Allocation,
    AllocationName,
    AsPrinted,
    Generalised,
    Murdoch,
    Papers,
)
from espalier.decomposition.attribution import (
    ALTI,
    AttentionRollout,
    ConditionalPMI,
    GradientInput,
    IntegratedGradients,
    InteractionIndex,
    PerturbedMasking,
)
from espalier.decomposition.baselines import (
    InputHessian,
    Method,
    Occlusion,
    interaction_baseline,
)
from espalier.decomposition.calls import decompose, interdependence
from espalier.decomposition.corpus import PairBlock, interdependence_corpus, one_thread_each
from espalier.decomposition.decompose import (
    Batch,
    decompose_batch,
    decompose_many,
)
from espalier.decomposition.dependence import Dependence, Interactions, interact_batch
from espalier.decomposition.inputs import Words, check_model
from espalier.decomposition.layers import layer_pairs
from espalier.decomposition.methods import MethodName, parse_rules, read_method
from espalier.decomposition.on_networks import Asked, NetworkPairs
from espalier.decomposition.pairs import PairMatrix, Pairs
from espalier.decomposition.parts import Part, Parts, Space
from espalier.decomposition.pieces import word_pairs
from espalier.decomposition.recursion import propagate
from espalier.decomposition.rows import relevant_rows
from espalier.decomposition.rules import (
    BiasApart,
    ByTotal,
    Difference,
    Frozen,
    KeepOpposites,
    Linearised,
    RelevantOnly,
    Rules,
    Shapley,
    SharedBias,
    Slope,
    ZeroOpposites,
)
from espalier.decomposition.shapley import ShapleyInteraction, WordSets

__all__ = [
    "ALTI",
    "AllPairs",
    "Allocation",
    "AllocationName",
    "AsPrinted",
    "Asked",
    "AttentionRollout",
    "Batch",
    "BiasApart",
    "ByTotal",
    "ConditionalPMI",
    "Dependence",
    "Difference",
    "Frozen",
    "Generalised",
    "GradientInput",
    "HiddenStates",
    "InputHessian",
    "IntegratedGradients",
    "InteractionIndex",
    "Interactions",
    "KeepOpposites",
    "Linearised",
    "Method",
    "MethodName",
    "Murdoch",
    "NetworkPairs",
    "Occlusion",
    "PairBlock",
    "PairMatrix",
    "Pairs",
    "Papers",
    "Part",
    "Parts",
    "PerturbedMasking",
    "RelevantOnly",
    "Rules",
    "Shapley",
    "ShapleyInteraction",
    "SharedBias",
    "Slope",
    "Space",
    "WordSets",
    "Words",
    "ZeroOpposites",
    "check_model",
    "decompose",
    "decompose_batch",
    "decompose_many",
    "interact_batch",
    "interaction_baseline",
    "interdependence",
    "interdependence_corpus",
    "layer_pairs",
    "one_thread_each",
    "parse_rules",
    "propagate",
    "read_method",
    "relevant_rows",
    "word_pairs",
]
