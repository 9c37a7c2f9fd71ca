"""Programs, built only when asked for.

entry = espalier.zoo.load("parity-sequential-relative")
tokens = entry.encode("101")
entry.decode(espalier.interpret(entry.program, tokens).outputs)     # 0
"""

from __future__ import annotations

from collections.abc import Callable

from espalier.errors import ProgramError, nearest
from espalier.zoo.addition import addition
from espalier.zoo.addition_scratchpad import addition_scratchpad
from espalier.zoo.dyck import dyck
from espalier.zoo.entry import Entry, Writing
from espalier.zoo.histogram import histogram
from espalier.zoo.induction import induction
from espalier.zoo.modular import modular
from espalier.zoo.most_frequent import most_frequent
from espalier.zoo.parity import sequential_absolute, sequential_relative, sum_modulo
from espalier.zoo.parity_scratchpad import parity_scratchpad
from espalier.zoo.reverse import reverse
from espalier.zoo.scan import scan
from espalier.zoo.sort import sort
from espalier.zoo.subleq import subleq

# What each program computes, and what builds it.
_PROGRAMS: dict[str, tuple[Callable[..., Entry], str]] = {
    "addition": (
        addition,
        "the sum of two positive integers of any length, one digit a layer (D.2)",
    ),
    "dyck": (dyck, "whether brackets of several kinds are balanced, one position a layer"),
    "histogram": (histogram, "how often each letter occurs, in one layer"),
    "induction": (induction, "what came after each letter the last time, in three layers"),
    "modular": (modular, "sums, differences and products of digits modulo m, one position a layer"),
    "most-frequent": (most_frequent, "the letter that occurs most often, in four layers"),
    "parity-sequential-absolute": (
        sequential_absolute,
        "parity of a bit string, one position a layer, by absolute positions (Figure 2)",
    ),
    "parity-sequential-relative": (
        sequential_relative,
        "parity of a bit string, one position a layer, by relative positions (Figure 8)",
    ),
    "parity-sum-modulo": (
        sum_modulo,
        "parity of a bit string in one layer, by counting ones with attention (Figure 7)",
    ),
    "scan": (
        scan,
        "SCAN: a command such as 'jump twice' to its actions, by parsing it and walking the tree",
    ),
    "parity-scratchpad": (
        parity_scratchpad,
        "parity of a bit string, written out prefix by prefix by a decoder (A.3)",
    ),
    "addition-scratchpad": (
        addition_scratchpad,
        "the sum of two numbers, written out by a decoder from its last digit on (A.3)",
    ),
    "reverse": (reverse, "a word backwards, in two layers"),
    "sort": (sort, "numbers in rising order, in three layers"),
    "subleq": (subleq, "a computer with one instruction that may rewrite its own program (D.3)"),
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
    build, summary = _PROGRAMS[name]
    try:
        entry = build(**settings)
    except TypeError as error:
        raise ProgramError(f"program {name!r} does not take these settings: {error}") from None
    return entry.called(name, summary)


__all__ = ["Entry", "Writing", "load", "names"]
