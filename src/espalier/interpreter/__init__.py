"""Runs a program on symbols: one machine, batched, without torch. A trace is a value."""

from espalier.interpreter.batch import NULL, Column, Ints, Mask, State
from espalier.interpreter.decoder import SymbolDecoder
from espalier.interpreter.interpret import chunks, interpret, interpret_many
from espalier.interpreter.machine import Machine, codes_of
from espalier.interpreter.trace import Assignment, Moment, Sublayer, Trace, as_bucket

__all__ = [
    "NULL",
    "Assignment",
    "Column",
    "Ints",
    "Machine",
    "Mask",
    "Moment",
    "State",
    "Sublayer",
    "SymbolDecoder",
    "Trace",
    "as_bucket",
    "chunks",
    "codes_of",
    "interpret",
    "interpret_many",
]
