"""Take an LSTM apart: contextual decomposition, and the interdependence of words."""

from espalier.decomposition.allocations import (
    Allocation,
    AsPrinted,
    Generalised,
    Murdoch,
    Papers,
)
from espalier.decomposition.decompose import (
    Batch,
    decompose,
    decompose_batch,
    decompose_many,
)
from espalier.decomposition.interdependence import (
    Dependence,
    Interactions,
    interact_batch,
    interdependence,
)
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
    "Papers",
    "Parts",
    "decompose",
    "decompose_batch",
    "decompose_many",
    "interact_batch",
    "interdependence",
    "layers_of",
    "propagate",
    "stacked_layers",
]
