"""Torch modules that know nothing of programs: the compiled encoder's parts, and the LSTM."""

from espalier.nets.files import english_model, load_language_model, save_language_model
from espalier.nets.lstm import LanguageModel, Shape, States, language_model
from espalier.nets.vocabulary import Vocabulary

__all__ = [
    "LanguageModel",
    "Shape",
    "States",
    "Vocabulary",
    "english_model",
    "language_model",
    "load_language_model",
    "save_language_model",
]
