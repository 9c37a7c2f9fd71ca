"""The Transformer that a program is compiled to: sparse weights, and modules that run them."""

from espalier.nets.compiled.decoder import CachedDecoder
from espalier.nets.compiled.encoder import CompiledEncoder, FixedDepth
from espalier.nets.compiled.feedforward import Expansion
from espalier.nets.compiled.halting import PROVEN_FOR, Finished, hold
from espalier.nets.compiled.mlp import TrainedFeedForward, apply_mlps, random_mlps, see
from espalier.nets.compiled.modules import MLP
from espalier.nets.compiled.probing import Probe, Silenced, run_probed
from espalier.nets.compiled.records import digest_of, from_tensors, on_cpu, to_tensors
from espalier.nets.compiled.universal import UniversalEncoder
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
    "MLP",
    "PROVEN_FOR",
    "CachedDecoder",
    "CompiledEncoder",
    "Expansion",
    "ExpansionWeights",
    "FeedForwardWeights",
    "Finished",
    "FixedDepth",
    "HaltWeights",
    "HeadWeights",
    "MeanWeights",
    "Probe",
    "RelativeBias",
    "Silenced",
    "Sparse",
    "TrainedFeedForward",
    "UniversalEncoder",
    "Weights",
    "apply_mlps",
    "digest_of",
    "from_tensors",
    "hold",
    "on_cpu",
    "random_mlps",
    "run_probed",
    "see",
    "to_tensors",
]
