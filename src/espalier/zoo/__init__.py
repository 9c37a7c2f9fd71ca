"""Programs, imported and built only when asked for.

entry = espalier.zoo.load("parity-sequential-relative")
tokens = entry.encode("101")
entry.decode(espalier.interpret(entry.program, tokens).outputs)     # 0
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from espalier.errors import ProgramError, nearest

if TYPE_CHECKING:
    from espalier.zoo.entry import Entry, Writing

# What each program computes.
_SUMMARIES = {
    "addition": "the sum of two positive integers of any length, one digit per layer (D.2)",
    "dyck": "whether brackets of several kinds are balanced, one position per layer",
    "histogram": "how often each letter occurs, in one layer",
    "induction": "what came after each letter the last time, in three layers",
    "modular": "sums, differences and products of digits modulo m, one position per layer",
    "most-frequent": "the letter that occurs most often, in four layers",
    "parity-sequential-absolute": (
        "parity of a bit string, one position per layer, by absolute positions (Figure 2)"
    ),
    "parity-sequential-relative": (
        "parity of a bit string, one position per layer, by relative positions (Figure 8)"
    ),
    "parity-sum-modulo": (
        "parity of a bit string in one layer, by counting ones with attention (Figure 7)"
    ),
    "scan": (
        "SCAN: a command such as 'jump twice' to its actions, by parsing it and walking the tree"
    ),
    "parity-scratchpad": "parity of a bit string, written out prefix by prefix by a decoder (A.3)",
    "addition-scratchpad": (
        "the sum of two numbers, written out by a decoder from its last digit on (A.3)"
    ),
    "reverse": "a word backwards, in two layers",
    "sort": "numbers in rising order, in two layers",
    "subleq": "a computer with one instruction that may rewrite its own program (D.3)",
}


def _builders() -> dict[str, Callable[..., Entry]]:
    """What builds each program; they need numpy, as their names do not."""
    from espalier.zoo.addition import addition
    from espalier.zoo.addition_scratchpad import addition_scratchpad
    from espalier.zoo.dyck import dyck
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

    return {
        "addition": addition,
        "dyck": dyck,
        "histogram": histogram,
        "induction": induction,
        "modular": modular,
        "most-frequent": most_frequent,
        "parity-sequential-absolute": sequential_absolute,
        "parity-sequential-relative": sequential_relative,
        "parity-sum-modulo": sum_modulo,
        "scan": scan,
        "parity-scratchpad": parity_scratchpad,
        "addition-scratchpad": addition_scratchpad,
        "reverse": reverse,
        "sort": sort,
        "subleq": subleq,
    }


def names() -> dict[str, str]:
    """Every program's name and what it computes, without building any.

    >>> names()["reverse"]
    'a word backwards, in two layers'
    """
    return dict(_SUMMARIES)


def load(name: str, **settings: object) -> Entry:
    """The program called `name`, built with `settings` (each program's own, such as its sizes).

    >>> entry = load("addition")
    >>> len(entry.program.rules), entry.expected("34+56")
    (80, '90')
    """
    if not isinstance(name, str) or name not in _SUMMARIES:
        raise ProgramError(f"there is no program {name!r}; {nearest(name, _SUMMARIES)}")
    build = _builders()[name]
    try:
        entry = build(**settings)
    except TypeError as error:
        raise ProgramError(f"program {name!r} does not take these settings: {error}") from None
    return entry.called(name, _SUMMARIES[name])


def __getattr__(name: str) -> Any:
    if name in ("Entry", "Writing"):
        from espalier.zoo.entry import Entry, Writing

        return {"Entry": Entry, "Writing": Writing}[name]
    raise AttributeError(f"module 'espalier.zoo' has no attribute {name!r}")


__all__ = ["Entry", "Writing", "load", "names"]
