"""Language models of every architecture: LSTMs (`nets.lstm`), GRUs and causal Transformers."""

from espalier.nets.language import stacked
from espalier.nets.language.building import initialise, language_model
from espalier.nets.language.files import (
    english_model,
    load_language_model,
    member,
    models_of,
    read_shape,
)
from espalier.nets.language.gru import gru_cell
from espalier.nets.language.models import AnyModel, CausalTransformer, GRUModel
from espalier.nets.language.shapes import Architecture, CausalShape, GRUShape, PositionKind

__all__ = [
    "AnyModel",
    "Architecture",
    "CausalShape",
    "CausalTransformer",
    "GRUModel",
    "GRUShape",
    "PositionKind",
    "english_model",
    "gru_cell",
    "initialise",
    "language_model",
    "load_language_model",
    "member",
    "models_of",
    "read_shape",
    "stacked",
]
