"""A translated expression: its program, and how inputs and outputs of it are written."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from espalier.errors import ProgramError, UndefinedError, listed
from espalier.language import Program, as_integer, as_items
from espalier.rasp.expressions import as_tokens


@dataclass(frozen=True)
class Translation:
    """A program for an expression, and how its input and output are written."""

    program: Program
    layers: int
    vocabulary: tuple[Any, ...]
    values: tuple[Any, ...]
    longest: int

    def encode(self, sequence: Iterable[Hashable]) -> list[int]:
        """Token ids, BOS first."""
        words = as_tokens(sequence, "the input")
        if not 0 < len(words) <= self.longest:
            raise ProgramError(
                f"the input has {len(words)} tokens; this program takes 1 to {self.longest}"
            )
        codes = {word: code for code, word in enumerate(self.vocabulary)}
        for place, word in enumerate(words):
            if word not in codes:
                raise ProgramError(
                    f"position {place} holds {word!r}, which is not in the vocabulary: "
                    f"{listed(map(repr, self.vocabulary))}"
                )
        return [len(codes), *(codes[word] for word in words)]

    def decode(self, outputs: Iterable[int]) -> list[Any]:
        """The value at each position after BOS."""
        found = as_items(outputs, "the outputs")
        codes = [as_integer(code, f"output {place}") for place, code in enumerate(found)][1:]
        for place, code in enumerate(codes):
            if not 0 <= code <= len(self.values):
                raise ProgramError(
                    f"output {place + 1} is {code}; codes of this program's values are 1 to "
                    f"{len(self.values)}, after one output for BOS"
                )
        if not codes:
            raise ProgramError(f"there is no output after BOS in {found!r}; decode a whole run")
        if 0 in codes:
            raise UndefinedError(
                f"position {codes.index(0)} has no value: an aggregate selected nothing, or "
                "positions with different values; give it a default or a sharper selector"
            )
        return [self.values[code - 1] for code in codes]
