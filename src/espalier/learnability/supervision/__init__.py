"""Models trained on a program's traces: MLPs in place of the compiled one, and whole Transformers.

A package of its own in learnability: it needs torch, which the questions about rules do not.
"""

from espalier.learnability.supervision.readable import (
    ReadableRun,
    ReadableSettings,
    ReadableTransformers,
    shape_for,
)
from espalier.learnability.supervision.traces import (
    TraceRun,
    TraceSettings,
    TraceTrained,
    agreement,
    trace_learner,
)

KINDS = (TraceRun, ReadableRun)

__all__ = [
    "KINDS",
    "ReadableRun",
    "ReadableSettings",
    "ReadableTransformers",
    "TraceRun",
    "TraceSettings",
    "TraceTrained",
    "agreement",
    "shape_for",
    "trace_learner",
]
