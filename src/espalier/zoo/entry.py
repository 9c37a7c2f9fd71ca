"""A program with its formats: how to write its input, read its output, and try it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from espalier.errors import ProgramError
from espalier.language import Program, as_integer, as_items, check_range
from espalier.results import Result

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Writing:
    """How a causal program answers: by writing tokens until `stop`, if there is one.

    `most` says how many tokens it may take after a prompt, the stop token included.
    """

    stop: int | None
    most: Callable[[Sequence[int]], int]


@dataclass(frozen=True, repr=False)
class Entry(Result):
    """One program of the zoo.

    `encode` turns an input as users write it into tokens, `decode` turns outputs into an answer,
    `sample` draws an input of about a given size, and `expected` is the answer by other means (None
    where there are none).
    `max_layers` is how long to run a program that does not halt on its own. A program with
    `writing` is given its input as a prompt, and `decode` reads what it writes.

    >>> from espalier import zoo
    >>> entry = zoo.load("parity-sum-modulo")
    >>> entry.encode("101"), entry.expected("101")
    ([2, 1, 0, 1], 0)
    """

    program: Program
    encode: Callable[[Any], list[int]]
    decode: Callable[[Iterable[int]], Any]
    sample: Callable[[random.Random, int], Any]
    expected: Callable[[Any], Any] | None
    max_layers: int | None = None
    name: str = ""
    summary: str = ""
    writing: Writing | None = None

    def to_frame(self) -> pandas.DataFrame:
        """One row per rule of its program."""
        return self.program.to_frame()

    def called(self, name: str, summary: str) -> Entry:
        """The same entry under a name."""
        return replace(self, name=name, summary=summary)

    def samples(self, count: int, *, size: int, seed: int = 0) -> list[Any]:
        """`count` random inputs, of sizes up to `size`, the same for the same seed."""
        count, size = check_range("count", count), check_range("size", size)
        source = random.Random(as_integer(seed, "seed"))
        return [self.sample(source, source.randint(1, size)) for _ in range(count)]


def last_output(outputs: Iterable[int]) -> int:
    """The answer of the last position, which has seen the whole input."""
    found = as_items(outputs, "the outputs")
    if not found:
        raise ProgramError("the answer is the last output, and there are none; decode a whole run")
    return as_integer(found[-1], "the last output")
