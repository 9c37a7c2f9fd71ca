"""A computer with one instruction, SUBLEQ, that may rewrite its own program (the paper's D.3).

An instruction is three cells A, B, C: subtract what cell A names from what cell B names; if the
result is at most 0 go to where cell C says, else continue with the next three. One instruction
takes three layers:

    read        cells A and B flag the cells that they name, as source and target
    subtract    the target takes the source's value from its own
    branch      the target's sign decides which cells hold the next A and B

Flags instead of pointers keep the rules few: setting a flag needs one rule for each value that may
name the cell, where rewriting a pointer needs one for each old and new value. Only the subtraction
itself needs a rule for each pair of values. A number that names no cell (negative, or beyond the
memory) names a cell behind the memory that is always empty; whatever meets an empty cell halts.
"""

from __future__ import annotations

from espalier.language import (
    Head,
    RuleBuilder,
    TextFormat,
    Variable,
    halt_spec,
    program_spec,
    qkv,
    var,
)
from espalier.zoo.entry import Entry
from espalier.zoo.memory import (
    BEHIND,
    NO_NUMBER,
    POSITIVE,
    Overflow,
    Size,
    check_size,
    decode,
    encode,
    read_cells,
    sample,
    simulate,
)

READ, SUBTRACT, BRANCH, DONE = range(4)


def subleq(
    lowest: int = -32,
    highest: int = 31,
    memory: int = 32,
    *,
    overflow: Overflow | str = Overflow.REFUSE,
) -> Entry:
    """A machine of `memory` cells that hold `lowest` to `highest`; rules grow as their square."""
    size = check_size(lowest, highest, memory, overflow)
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
        text=TextFormat(
            symbols=tuple(names[:-1]),
            answers=(*names[:-1], None, None),
            unit="words",
            fill=size.values,
            fill_to=size.memory + BEHIND,
            longest=size.memory,
            example="3 4 -1",
            join=" ",
            errors={size.overflown: "a cell left the range of the machine"},
        ),
        value_names={
            "mem": (*names, "overflown"),
            "sign": ("AT_MOST_0", "POSITIVE", "NO_NUMBER"),
            "phase": ("READ", "SUBTRACT", "BRANCH", "DONE"),
        },
    )
    return Entry(
        program=program,
        encode=lambda cells: encode(size, cells),
        decode=lambda outputs: decode(size, outputs),
        sample=lambda source, cells: sample(size, source, cells),
        expected=lambda cells: simulate(read_cells(size, cells), size)[0],
    )


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
        for is_target in builder.get("target"):
            if is_target:
                _subtract_here(size, builder, right)


def _subtract_here(size: Size, builder: RuleBuilder, right: int) -> None:
    for left in builder.get("mem"):
        if left < size.values:
            result = size.minus(left, right)
            builder.set("mem", result)
            if size.sign(result) != size.sign(left):
                for sign in builder.get("sign"):
                    if sign == size.sign(left):
                        builder.set("sign", size.sign(result))


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
