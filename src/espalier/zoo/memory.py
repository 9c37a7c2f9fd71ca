"""The memory of a SUBLEQ machine: what cells may hold, how they are written, and plain execution.

Nothing here is a program; `espalier.zoo.subleq` is.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from espalier.errors import ProgramError
from espalier.language import as_integer, as_items

AT_MOST_0, POSITIVE, NO_NUMBER = range(3)
# Cells behind the memory, always empty: an instruction may start there, and then halts.
BEHIND = 3


class Overflow(Enum):
    """What a subtraction does if its result leaves the range."""

    REFUSE = "refuse"  # the machine stops, and the answer is an error that names the cell
    SATURATE = "saturate"  # the result is the nearest value of the range
    WRAP = "wrap"  # the range is a circle


@dataclass(frozen=True)
class Size:
    """The values that a cell may hold, how many cells there are, and what overflow does."""

    lowest: int
    highest: int
    memory: int
    overflow: Overflow

    @property
    def values(self) -> int:
        """How many different values there are; the code of an empty cell."""
        return self.highest - self.lowest + 1

    @property
    def overflown(self) -> int:
        """The code of a cell whose value left the range."""
        return self.values + 1

    def cell(self, code: int) -> int:
        """The cell that a value names; behind the memory if there is none."""
        address = code + self.lowest
        return address if code < self.values and 0 <= address < self.memory else self.memory

    def sign(self, code: int) -> int:
        """Of a value's code."""
        if code >= self.values:
            return NO_NUMBER
        return POSITIVE if code + self.lowest > 0 else AT_MOST_0

    def minus(self, left: int, right: int) -> int:
        """The code of a difference."""
        result = left - right - self.lowest  # codes are values less the lowest
        if 0 <= result < self.values:
            return result
        match self.overflow:
            case Overflow.REFUSE:
                return self.overflown
            case Overflow.SATURATE:
                return 0 if result < 0 else self.values - 1
            case Overflow.WRAP:
                return result % self.values


def check_size(lowest: object, highest: object, memory: object, overflow: object) -> Size:
    """The machine asked for, if it can be."""
    try:
        chosen = Overflow(overflow)
    except ValueError:
        known = ", ".join(repr(kind.value) for kind in Overflow)
        raise ProgramError(f"overflow is {overflow!r}; choose one of {known}") from None
    size = Size(
        as_integer(lowest, "lowest"),
        as_integer(highest, "highest"),
        as_integer(memory, "memory"),
        chosen,
    )
    if size.lowest >= 0 or size.memory < 1 or size.highest < size.memory - 1:
        raise ProgramError(
            f"subleq was asked for {size.memory} cells with values {size.lowest}..{size.highest}; "
            "it needs a cell, a negative value to halt with, and values that name every cell"
        )
    return size


def simulate(cells: list[int], size: Size, steps: int = 10_000) -> tuple[list[int], int]:
    """The memory when the machine halts, and the number of instructions it ran, by plain Python."""
    memory, place, ran = list(cells), 0, 0

    def inside(*addresses: int) -> bool:
        return all(0 <= address < len(memory) for address in addresses)

    while inside(place, place + 1) and inside(memory[place], memory[place + 1]):
        if ran == steps:
            raise ProgramError(f"the program has not halted after {steps:,} instructions")
        source, target = memory[place], memory[place + 1]
        code = size.minus(memory[target] - size.lowest, memory[source] - size.lowest)
        if code == size.overflown:
            raise _overflow(size, target)
        memory[target], ran = code + size.lowest, ran + 1
        if memory[target] > 0:
            place += 3
        elif inside(place + 2):
            place = memory[place + 2]
        else:
            break
    return memory, ran


def _overflow(size: Size, cell: int) -> ProgramError:
    return ProgramError(
        f"the machine stopped: cell {cell} left the range {size.lowest}..{size.highest}; build it "
        "with a wider one, or with overflow='saturate' or 'wrap'"
    )


def read_cells(size: Size, cells: str | Iterable[int]) -> list[int]:
    """The numbers of "3 4 -1", "[3, 4, -1]" or [3, 4, -1], if they fit."""
    words = re.sub(r"[][,]", " ", cells).split() if isinstance(cells, str) else cells
    numbers = []
    for place, word in enumerate(as_items(words, "the memory")):
        try:
            number = _whole(word)
        except ValueError:
            raise ProgramError(f"cell {place} holds {word!r}, which is no whole number") from None
        if not size.lowest <= number <= size.highest:
            raise ProgramError(
                f"cell {place} holds {number}, outside {size.lowest}..{size.highest}; build the "
                "machine with a wider range"
            )
        numbers.append(number)
    if not 0 < len(numbers) <= size.memory:
        raise ProgramError(
            f"the memory has {len(numbers)} cells; this machine takes 1 to {size.memory}"
        )
    return numbers


def _whole(word: object) -> int:
    """The number written; not all that int() takes is one (1_0), nor all integers (True)."""
    if isinstance(word, bool) or (isinstance(word, str) and not re.fullmatch("[-+]?[0-9]+", word)):
        raise ValueError(word)
    return int(word) if isinstance(word, str) else as_integer(word, "a cell")


def encode(size: Size, cells: str | Iterable[int]) -> list[int]:
    """Codes of the cells, empty ones behind."""
    codes = [number - size.lowest for number in read_cells(size, cells)]
    return codes + [size.values] * (size.memory + BEHIND - len(codes))


def decode(size: Size, outputs: Iterable[int]) -> list[int]:
    """The numbers in the memory; ProgramError if one left the range."""
    codes = [as_integer(code, "an output") for code in as_items(outputs, "the outputs")]
    for cell, code in enumerate(codes):
        if not 0 <= code <= size.overflown:
            raise ProgramError(
                f"output {cell} is {code}; codes of this machine's cells are 0 to {size.overflown}"
            )
    if size.overflown in codes:
        raise _overflow(size, codes.index(size.overflown))
    return [code + size.lowest for code in codes if code < size.values]


def sample(size: Size, source: random.Random, cells: int) -> list[int]:
    """A random program that halts within the range, often after rewriting itself."""
    for _ in range(1000):
        length = min(max(cells, 4), size.memory)
        count = source.randint(1, max(1, length // 5))
        memory = [source.randint(max(size.lowest, -5), 5) for _ in range(length)]
        for start in range(0, 3 * count, 3):
            after = -1 if start + 3 == 3 * count else start + 3
            where = [source.randrange(length), source.randrange(length)]
            memory[start : start + 3] = [*where, after][: length - start]
        try:
            simulate(memory, size, steps=50)
        except ProgramError:
            continue
        return memory
    return [0, 0, -1]
