"""The papers' experiments: each figure an entry with settings, rows, a table and a picture.

`reproduce` runs one and stores it in a folder; the models behind the figures are trained once, in a
`RunCache`, and shared.
"""

from espalier.experiments.cache import RunCache
from espalier.experiments.experiment import Experiment, Row, Scale
from espalier.experiments.parity_answers import entry_of, training_inputs
from espalier.experiments.parity_figures import KINDS, PROGRAMS, beside
from espalier.experiments.parity_models import (
    Learner,
    Read,
    Traced,
    end_to_end,
    readable,
    traced,
    translators,
)
from espalier.experiments.registry import find, names
from espalier.experiments.reproduction import Reproduction, read_reproduction, reproduce
from espalier.experiments.syntax_figures import both_measures, label_probe

__all__ = [
    "KINDS",
    "PROGRAMS",
    "Experiment",
    "Learner",
    "Read",
    "Reproduction",
    "Row",
    "RunCache",
    "Scale",
    "Traced",
    "beside",
    "both_measures",
    "end_to_end",
    "entry_of",
    "find",
    "label_probe",
    "names",
    "read_reproduction",
    "readable",
    "reproduce",
    "traced",
    "training_inputs",
    "translators",
]
