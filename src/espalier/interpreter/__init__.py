"""Runs a program on symbols: one machine, batched, without torch. A trace is a value."""

from espalier.interpreter.interpret import interpret, interpret_many
from espalier.interpreter.machine import Machine
from espalier.interpreter.trace import Trace

__all__ = ["Machine", "Trace", "interpret", "interpret_many"]
