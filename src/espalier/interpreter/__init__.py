"""Runs a program on symbols: one machine, batched, without torch. A trace is a value."""

from espalier.interpreter.interpret import interpret, interpret_many
from espalier.interpreter.machine import Machine
from espalier.interpreter.trace import Assignment, Moment, Trace, as_bucket

__all__ = [
    "Assignment",
    "Machine",
    "Moment",
    "Trace",
    "as_bucket",
    "interpret",
    "interpret_many",
]
