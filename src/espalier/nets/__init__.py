"""Torch modules that know nothing of programs: Transformers, and the LSTM language model."""

from espalier.nets.files import load_language_model, save_language_model
from espalier.nets.lstm import LanguageModel, Shape, States, language_model
from espalier.nets.vocabulary import Vocabulary

__all__ = [
    "LanguageModel",
    "Shape",
    "States",
    "Vocabulary",
    "language_model",
    "load_language_model",
    "save_language_model",
]
