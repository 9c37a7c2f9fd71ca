"""A program against answers that are known: every example, by either machine, resumable."""

from espalier.evaluation.engines import (
    Compiled,
    Engine,
    Interpreter,
    resident_bytes,
)
from espalier.evaluation.evaluate import Case, Progress, evaluate
from espalier.evaluation.result import Evaluation

__all__ = [
    "Case",
    "Compiled",
    "Engine",
    "Evaluation",
    "Interpreter",
    "Progress",
    "evaluate",
    "resident_bytes",
]
