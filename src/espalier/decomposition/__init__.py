"""Take an LSTM apart: contextual decomposition, and the interdependence of words."""

from espalier.decomposition.allocations import (
    Allocation,
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
from espalier.decomposition.corpus import PairBlock, interdependence_corpus
from espalier.decomposition.decompose import (
    Batch,
    decompose,
    decompose_batch,
    decompose_many,
)
from espalier.decomposition.dependence import Dependence, Interactions, interact_batch
from espalier.decomposition.interdependence import interdependence
from espalier.decomposition.pairs import PairMatrix, Pairs
from espalier.decomposition.parts import Parts
from espalier.decomposition.recursion import propagate

__all__ = [
    "Allocation",
    "AsPrinted",
    "Batch",
    "Dependence",
    "Generalised",
    "InputHessian",
    "Interactions",
    "Method",
    "Murdoch",
    "Occlusion",
    "PairBlock",
    "PairMatrix",
    "Pairs",
    "Papers",
    "Parts",
    "ShapleyInteraction",
    "decompose",
    "decompose_batch",
    "decompose_many",
    "interact_batch",
    "interaction_baseline",
    "interdependence",
    "interdependence_corpus",
    "propagate",
]
