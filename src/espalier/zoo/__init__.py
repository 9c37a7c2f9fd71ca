"""Programs, imported and built only when asked for.

entry = espalier.zoo.load("parity-sequential-relative")
tokens = entry.encode("101")
entry.decode(espalier.interpret(entry.program, tokens).outputs)     # 0
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from espalier.errors import ProgramError, nearest

if TYPE_CHECKING:
    from espalier.zoo.entry import Entry, Writing

# What each program computes, and what builds it: a function of a module of this room.
_PROGRAMS: dict[str, tuple[str, str]] = {
    "addition": (
        "addition.addition",
        "the sum of two positive integers of any length, one digit a layer (D.2)",
    ),
    "dyck": ("dyck.dyck", "whether brackets of several kinds are balanced, one position a layer"),
    "histogram": ("histogram.histogram", "how often each letter occurs, in one layer"),
    "induction": (
        "induction.induction",
        "what came after each letter the last time, in three layers",
    ),
    "modular": (
        "modular.modular",
        "sums, differences and products of digits modulo m, one position a layer",
    ),
    "most-frequent": (
        "most_frequent.most_frequent",
        "the letter that occurs most often, in four layers",
    ),
    "parity-sequential-absolute": (
        "parity.sequential_absolute",
        "parity of a bit string, one position a layer, by absolute positions (Figure 2)",
    ),
    "parity-sequential-relative": (
        "parity.sequential_relative",
        "parity of a bit string, one position a layer, by relative positions (Figure 8)",
    ),
    "parity-sum-modulo": (
        "parity.sum_modulo",
        "parity of a bit string in one layer, by counting ones with attention (Figure 7)",
    ),
    "scan": (
        "scan.scan",
        "SCAN: a command such as 'jump twice' to its actions, by parsing it and walking the tree",
    ),
    "parity-scratchpad": (
        "parity_scratchpad.parity_scratchpad",
        "parity of a bit string, written out prefix by prefix by a decoder (A.3)",
    ),
    "addition-scratchpad": (
        "addition_scratchpad.addition_scratchpad",
        "the sum of two numbers, written out by a decoder from its last digit on (A.3)",
    ),
    "reverse": ("reverse.reverse", "a word backwards, in two layers"),
    "sort": ("sort.sort", "numbers in rising order, in three layers"),
    "subleq": (
        "subleq.subleq",
        "a computer with one instruction that may rewrite its own program (D.3)",
    ),
}


def names() -> dict[str, str]:
    """Every program's name and what it computes, without building any.

    >>> names()["reverse"]
    'a word backwards, in two layers'
    """
    return {name: summary for name, (_, summary) in _PROGRAMS.items()}


def load(name: str, **settings: object) -> Entry:
    """The program called `name`, built with `settings` (each program's own, such as its sizes).

    >>> entry = load("addition")
    >>> len(entry.program.rules), entry.expected("34+56")
    (80, '90')
    """
    if not isinstance(name, str) or name not in _PROGRAMS:
        raise ProgramError(f"there is no program {name!r}; {nearest(name, _PROGRAMS)}")
    builder, summary = _PROGRAMS[name]
    module, _, function = builder.partition(".")
    build = getattr(import_module(f"espalier.zoo.{module}"), function)
    try:
        entry: Entry = build(**settings)
    except TypeError as error:
        raise ProgramError(f"program {name!r} does not take these settings: {error}") from None
    return entry.called(name, summary)


def __getattr__(name: str) -> Any:
    if name in ("Entry", "Writing"):  # which need numpy, as names do not
        return getattr(import_module("espalier.zoo.entry"), name)
    raise AttributeError(f"module 'espalier.zoo' has no attribute {name!r}")


__all__ = ["Entry", "Writing", "load", "names"]
