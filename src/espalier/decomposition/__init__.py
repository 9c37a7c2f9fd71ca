"""Take an LSTM apart: contextual decomposition, and the interdependence of words.

`recursion` is the papers' recursion for any focus and allocation, `decompose` and `dependence` what
is asked of it; `all_pairs` gives every pair of words at once.
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
from espalier.decomposition.baselines import (
    InputHessian,
    Method,
    Occlusion,
    ShapleyInteraction,
    interaction_baseline,
)
from espalier.decomposition.corpus import PairBlock, interdependence_corpus, one_thread_each
from espalier.decomposition.decompose import (
    Batch,
    decompose,
    decompose_batch,
    decompose_many,
)
from espalier.decomposition.dependence import Dependence, Interactions, Space, interact_batch
from espalier.decomposition.inputs import Words, check_model
from espalier.decomposition.interdependence import interdependence
from espalier.decomposition.pairs import PairMatrix, Pairs
from espalier.decomposition.parts import Part, Parts
from espalier.decomposition.recursion import propagate

__all__ = [
    "AllPairs",
    "Allocation",
    "AllocationName",
    "AsPrinted",
    "Batch",
    "Dependence",
    "Generalised",
    "HiddenStates",
    "InputHessian",
    "Interactions",
    "Method",
    "Murdoch",
    "Occlusion",
    "PairBlock",
    "PairMatrix",
    "Pairs",
    "Papers",
    "Part",
    "Parts",
    "ShapleyInteraction",
    "Space",
    "Words",
    "check_model",
    "decompose",
    "decompose_batch",
    "decompose_many",
    "interact_batch",
    "interaction_baseline",
    "interdependence",
    "interdependence_corpus",
    "one_thread_each",
    "propagate",
]
