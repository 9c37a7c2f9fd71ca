"""Take an LSTM apart: contextual decomposition, and the interdependence of words."""

from espalier.decomposition.allocations import (
    Allocation,
    AsPrinted,
    Generalised,
    Murdoch,
    Papers,
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
from espalier.decomposition.pairs import Pairs
from espalier.decomposition.parts import Parts
from espalier.decomposition.recursion import Layer, layers_of, propagate, stacked_layers

__all__ = [
    "Allocation",
    "AsPrinted",
    "Batch",
    "Dependence",
    "Generalised",
    "Interactions",
    "Layer",
    "Murdoch",
    "PairBlock",
    "Pairs",
    "Papers",
    "Parts",
    "decompose",
    "decompose_batch",
    "decompose_many",
    "interact_batch",
    "interdependence",
    "interdependence_corpus",
    "layers_of",
    "propagate",
    "stacked_layers",
]
