"""The papers' experiments: each figure an entry with settings, rows, a table and a picture.

`reproduce` runs one and keeps it as a folder; the models behind the figures are trained once, in a
`RunCache`, and shared.
"""

from espalier.experiments.cache import RunCache
from espalier.experiments.experiment import Experiment, Row, Scale
from espalier.experiments.registry import find, names
from espalier.experiments.reproduction import Reproduction, read_reproduction, reproduce

__all__ = [
    "Experiment",
    "Reproduction",
    "Row",
    "RunCache",
    "Scale",
    "find",
    "names",
    "read_reproduction",
    "reproduce",
]
