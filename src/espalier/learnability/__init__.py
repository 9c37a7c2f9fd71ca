"""What a training set says about a program: which parts of it the set can teach at all."""

from espalier.learnability.constraints import DroppedConstraint
from espalier.learnability.lessons import lessons
from espalier.learnability.minimal import Dropped, MinimalProgram, minimal
from espalier.learnability.optimum import local_optimum
from espalier.learnability.traces import Traces, read_traces, record_traces
from espalier.learnability.verdict import LocalOptimum, Parameter

__all__ = [
    "Dropped",
    "DroppedConstraint",
    "LocalOptimum",
    "MinimalProgram",
    "Parameter",
    "Traces",
    "lessons",
    "local_optimum",
    "minimal",
    "read_traces",
    "record_traces",
]
