"""The Transformer that a program is compiled to: sparse weights, and modules that run them."""

from espalier.nets.compiled.decoder import CachedDecoder
from espalier.nets.compiled.feedforward import Expansion
from espalier.nets.compiled.mlp import TrainedFeedForward, apply_mlps, random_mlps, see
from espalier.nets.compiled.universal import Finished, UniversalEncoder, hold
from espalier.nets.compiled.weights import (
    ExpansionWeights,
    FeedForwardWeights,
    HaltWeights,
    HeadWeights,
    MeanWeights,
    RelativeBias,
    Sparse,
    Weights,
)

__all__ = [
    "CachedDecoder",
    "Expansion",
    "ExpansionWeights",
    "FeedForwardWeights",
    "Finished",
    "HaltWeights",
    "HeadWeights",
    "MeanWeights",
    "RelativeBias",
    "Sparse",
    "TrainedFeedForward",
    "UniversalEncoder",
    "Weights",
    "apply_mlps",
    "hold",
    "random_mlps",
    "see",
]
