"""LSTM language models, alone and stacked, with every gate and state of every step."""

from espalier.nets.lstm import members
from espalier.nets.lstm.files import (
    checkpoints,
    english_model,
    load_language_model,
    read_tensors,
    save_language_model,
)
from espalier.nets.lstm.model import (
    LanguageModel,
    Shape,
    State,
    States,
    initialise,
    language_model,
)
from espalier.nets.lstm.recurrence import recur
from espalier.nets.lstm.vocabulary import UNKNOWN, Encoded, Vocabulary, number_of

__all__ = [
    "UNKNOWN",
    "Encoded",
    "LanguageModel",
    "Shape",
    "State",
    "States",
    "Vocabulary",
    "checkpoints",
    "english_model",
    "initialise",
    "language_model",
    "load_language_model",
    "members",
    "number_of",
    "read_tensors",
    "recur",
    "save_language_model",
]
