"""Language models of every architecture: LSTMs (`nets.lstm`), GRUs and causal Transformers."""

from espalier.nets.language import stacked
from espalier.nets.language.files import build_from, member, read_shape
from espalier.nets.language.gru import gru_cell
from espalier.nets.language.models import (
    AnyModel,
    CausalTransformer,
    GRUModel,
    language_model,
)
from espalier.nets.language.shapes import Architecture, CausalShape, GRUShape, PositionKind

__all__ = [
    "AnyModel",
    "Architecture",
    "CausalShape",
    "CausalTransformer",
    "GRUModel",
    "GRUShape",
    "PositionKind",
    "build_from",
    "gru_cell",
    "language_model",
    "member",
    "read_shape",
    "stacked",
]
