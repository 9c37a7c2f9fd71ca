"""Sums of two whole numbers as people write them, for the programs that add.

Numbers stay texts throughout: they may be of any length, and Python's own conversion between
texts and integers stops at 4,300 digits.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable

from espalier.errors import ProgramError

DIGITS = "0123456789"


def read_numbers(text: object, program: str) -> tuple[str, str]:
    """The two numbers of "34+56", "34 + 56" or "34+56="; `program` is named in errors."""
    pattern = r"\s*(\d+)\s*\+\s*(\d+)\s*=?\s*"
    found = re.fullmatch(pattern, text, re.ASCII) if isinstance(text, str) else None
    if found is None:
        raise ProgramError(f"{program} takes two whole numbers, as in '34+56'; found {text!r}")
    return found[1], found[2]


def add(first: str, second: str) -> str:
    """The sum, digit by digit, as on paper."""
    places = max(len(first), len(second)) + 1
    carry, written = 0, []
    for pair in zip(reversed(first.zfill(places)), reversed(second.zfill(places)), strict=True):
        carry, digit = divmod(carry + sum(map(int, pair)), 10)
        written.append(digit)
    return write_number(reversed(written))


def write_number(digits: Iterable[int]) -> str:
    """The number with these digits, without zeros in front."""
    return "".join(map(str, digits)).lstrip("0") or "0"


def sample_sum(source: random.Random, size: int) -> str:
    """Two numbers of up to `size` digits; one time in four, all of them nines and zeros."""
    digits = source.choice([DIGITS] * 3 + ["09"])
    lengths = source.randint(1, size), source.randint(1, size)
    return "+".join("".join(source.choices(digits, k=length)) for length in lengths)
