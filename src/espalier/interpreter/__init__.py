"""Runs a program on symbols: one machine, batched, without torch. A trace is a value."""

from espalier.interpreter.batch import NULL, Column, Ints, Mask, State
from espalier.interpreter.cache import TraceCache
from espalier.interpreter.decoder import SymbolDecoder
from espalier.interpreter.explain import Counterexample, Edge, Explanation, Interaction
from espalier.interpreter.interpret import chunks, interpret, interpret_many
from espalier.interpreter.interventions import IntervenedMachine
from espalier.interpreter.machine import Machine, codes_of
from espalier.interpreter.trace import Assignment, Moment, Trace, as_bucket
from espalier.interventions import Sublayer

__all__ = [
    "NULL",
    "Assignment",
    "Column",
    "Counterexample",
    "Edge",
    "Explanation",
    "Interaction",
    "IntervenedMachine",
    "Ints",
    "Machine",
    "Mask",
    "Moment",
    "State",
    "Sublayer",
    "SymbolDecoder",
    "Trace",
    "TraceCache",
    "as_bucket",
    "chunks",
    "codes_of",
    "interpret",
    "interpret_many",
]
