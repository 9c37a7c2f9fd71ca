"""LSTM language models, alone and stacked, with every gate and state of every step."""

from espalier.nets.lstm import members
from espalier.nets.lstm.cell import LSTMLayer, LSTMStates, lstm_cell, product, unroll
from espalier.nets.lstm.files import (
    ENGLISH,
    build_lstm,
    checkpoints,
    find_checkpoint,
    load_language_model,
    member_names,
    models_of,
    read_tensors,
    save_language_model,
)
from espalier.nets.lstm.members import StackedState, StackedWeights, stacked_layers
from espalier.nets.lstm.model import (
    LanguageModel,
    LSTMShape,
    LSTMState,
    initialise,
    language_model,
)
from espalier.nets.lstm.outside import call_in_evaluation, check_logits, is_batch_first
from espalier.nets.lstm.recurrence import fused_cell_works, recur
from espalier.nets.lstm.vocabulary import UNKNOWN, Encoded, Vocabulary, number_of

__all__ = [
    "ENGLISH",
    "UNKNOWN",
    "Encoded",
    "LSTMLayer",
    "LSTMShape",
    "LSTMState",
    "LSTMStates",
    "LanguageModel",
    "StackedState",
    "StackedWeights",
    "Vocabulary",
    "build_lstm",
    "call_in_evaluation",
    "check_logits",
    "checkpoints",
    "find_checkpoint",
    "fused_cell_works",
    "initialise",
    "is_batch_first",
    "language_model",
    "load_language_model",
    "lstm_cell",
    "member_names",
    "members",
    "models_of",
    "number_of",
    "product",
    "read_tensors",
    "recur",
    "save_language_model",
    "stacked_layers",
    "unroll",
]
