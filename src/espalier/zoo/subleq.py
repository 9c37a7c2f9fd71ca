"""A computer with one instruction, SUBLEQ, that may rewrite its own program (the paper's D.3).

An instruction is three cells A, B, C: subtract what cell A names from what cell B names; if the
result is at most 0 go to where cell C says, else go on with the next three. One instruction takes
three layers:

    read        cells A and B flag the cells that they name, as source and target
    subtract    the target takes the source's value from its own
    branch      the target's sign decides which cells hold the next A and B

Flags instead of pointers keep the rules few: setting a flag needs one rule for each value that may
name the cell, where rewriting a pointer needs one for each old and new value. Only the subtraction
itself needs a rule for each pair of values. A number that names no cell (negative, or beyond the
memory) names a cell behind the memory that is always empty; whatever meets an empty cell halts.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from espalier.errors import ProgramError
from espalier.language import (
    Head,
    RuleBuilder,
    Variable,
    halt_spec,
    program_spec,
    qkv,
    var,
)
from espalier.language.variables import as_integer, as_items
from espalier.zoo.entry import Entry

READ, SUBTRACT, BRANCH, DONE = range(4)
AT_MOST_0, POSITIVE, NO_NUMBER = range(3)
# Cells behind the memory, always empty: an instruction may start there, and then halts.
BEHIND = 3


class Overflow(Enum):
    """What a subtraction does whose result leaves the range."""

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


def subleq(
    lowest: int = -32,
    highest: int = 31,
    memory: int = 32,
    *,
    overflow: Overflow | str = Overflow.REFUSE,
) -> Entry:
    """A machine of `memory` cells that hold `lowest` to `highest`; rules grow as their square."""
    size = _size(lowest, highest, memory, overflow)
    variables, heads = _variables(size), _heads()
    names = [*map(str, range(size.lowest, size.highest + 1)), "empty"]
    program = program_spec(
        variables,
        heads,
        rules=_rules(size, RuleBuilder(variables, heads)),
        output_name="mem",
        input_range=size.values + 1,
        position_range=size.memory + BEHIND,
        halt_spec=halt_spec("phase", DONE),
        vocabulary=names,
    )
    return Entry(
        program=program,
        encode=lambda cells: _encode(size, cells),
        decode=lambda outputs: _decode(size, outputs),
        sample=lambda source, cells: _sample(size, source, cells),
        expected=lambda cells: simulate(_cells(size, cells), size)[0],
    )


def _size(lowest: object, highest: object, memory: object, overflow: object) -> Size:
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


def _variables(size: Size) -> dict[str, Variable]:
    cells = size.memory + BEHIND
    return {
        "mem": var(size.values + 2, input_init_fn=lambda code: code),
        "sign": var(3, input_init_fn=size.sign),
        "phase": var(4),
        # Which cells hold the instruction's A, B and C, and which ones A and B name.
        "at_a": var(2, position_init_fn=lambda i: i == 0),
        "at_b": var(2, position_init_fn=lambda i: i == 1),
        "at_c": var(2),
        "source": var(2),
        "target": var(2),
        "address": var(cells, position_init_fn=lambda i: i),
        "left": var(cells, position_init_fn=lambda i: max(0, i - 1)),
        "left_2": var(cells, position_init_fn=lambda i: max(0, i - 2)),
        "one": var(2, default=1),
    }


def _heads() -> dict[str, Head]:
    return {
        "a": qkv("one", "at_a", "mem"),
        "b": qkv("one", "at_b", "mem"),
        "c": qkv("one", "at_c", "mem"),
        "subtrahend": qkv("one", "source", "mem"),
        "result": qkv("one", "target", "sign"),
        "b_left": qkv("left", "address", "at_b"),
        "c_left": qkv("left", "address", "at_c"),
        "c_left_2": qkv("left_2", "address", "at_c"),
    }


def _rules(size: Size, builder: RuleBuilder) -> RuleBuilder:
    for phase in builder.get("phase"):
        if phase == READ:
            _read(size, builder)
        elif phase == SUBTRACT:
            _subtract(size, builder)
        elif phase == BRANCH:
            _branch(size, builder)
    return builder


def _read(size: Size, builder: RuleBuilder) -> None:
    """A and B flag the cells that they name; the cell to the right of B is C."""
    builder.set("phase", SUBTRACT)
    for operand, flag, held in (("a", "at_a", "source"), ("b", "at_b", "target")):
        for code, address in builder.get(operand, "address"):
            if address == size.cell(code):
                builder.set(held, 1)
        builder.set(flag, 0)
    for is_left in builder.get("b_left"):
        if is_left:
            builder.set("at_c", 1)


def _subtract(size: Size, builder: RuleBuilder) -> None:
    """The target takes the source's value from its own, unless either is empty."""
    builder.set("source", 0)
    for right in builder.get("subtrahend"):
        if right >= size.values:
            builder.set("phase", DONE)
            continue
        builder.set("phase", BRANCH)
        for is_target, left, sign in builder.get("target", "mem", "sign"):
            if is_target and left < size.values and sign == size.sign(left):
                result = size.minus(left, right)
                builder.set("sign", size.sign(result))
        for is_target, left in builder.get("target", "mem"):
            if is_target and left < size.values:
                builder.set("mem", size.minus(left, right))


def _branch(size: Size, builder: RuleBuilder) -> None:
    """After a positive result the next three cells are the instruction, else those at C."""
    builder.set("target", 0)
    builder.set("at_c", 0)
    for sign in builder.get("result"):
        if sign == POSITIVE:
            builder.set("phase", READ)
            for head, flag in (("c_left", "at_a"), ("c_left_2", "at_b")):
                for is_left in builder.get(head):
                    if is_left:
                        builder.set(flag, 1)
        elif sign == NO_NUMBER:
            builder.set("phase", DONE)
        else:
            _jump(size, builder)


def _jump(size: Size, builder: RuleBuilder) -> None:
    for code in builder.get("c"):
        goal = size.cell(code)
        if goal == size.memory:
            builder.set("phase", DONE)
            continue
        builder.set("phase", READ)
        for address in builder.get("address"):
            if address == goal:
                builder.set("at_a", 1)
            elif address == goal + 1:
                builder.set("at_b", 1)


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


def _cells(size: Size, cells: str | Iterable[int]) -> list[int]:
    """The numbers of "3 4 -1", "3, 4, -1" or [3, 4, -1], if they fit."""
    words = cells.replace(",", " ").split() if isinstance(cells, str) else cells
    numbers = []
    for place, word in enumerate(as_items(words, "the memory")):
        try:
            number = int(word) if isinstance(word, str) else as_integer(word, "a cell")
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


def _encode(size: Size, cells: str | Iterable[int]) -> list[int]:
    codes = [number - size.lowest for number in _cells(size, cells)]
    return codes + [size.values] * (size.memory + BEHIND - len(codes))


def _decode(size: Size, outputs: Iterable[int]) -> list[int]:
    codes = list(outputs)
    if size.overflown in codes:
        raise _overflow(size, codes.index(size.overflown))
    return [code + size.lowest for code in codes if code < size.values]


def _sample(size: Size, source: random.Random, cells: int) -> list[int]:
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
