"""The sum of two positive integers of any length, one digit per layer (the paper's section D.2).

A wave runs from the right through each number, one digit per layer: from END through the second and
from + through the first. It parks on the mark before the number, which counts as 0, so a shorter
number continues with zeros. One head averages three digits, those under the two waves and END's,
which is the carry; a third of the sum names the sum. A third wave marks where the next digit of
the answer goes. When both waves are parked, the carry is written and the program halts.

    START 3 4 + 5 6 END   ->   PAD PAD PAD PAD 9 0 PAD
"""

from __future__ import annotations

from espalier.language import (
    RuleBuilder,
    TextFormat,
    Variable,
    halt_spec,
    numerical_var,
    program_spec,
    qkv,
    set_var,
    v_relative,
    var,
)
from espalier.zoo.entry import Entry
from espalier.zoo.numbers import DIGITS, add, read_numbers, sample_sum, write_number

START, PLUS, END = 10, 11, 12
PAD = 10

# Where the wave through a number is: not here yet, here, gone, parked on a mark; END is an origin.
AHEAD, HERE, GONE, PARKED, ORIGIN = range(5)
# Whether it is this position's turn to be written.
LATER, NOW, NEVER = range(3)


def addition() -> Entry:
    """The answer's digits are at the right, before END; N + 2 layers for N digits."""
    variables: dict[str, Variable] = {
        "token": var(13, input_init_fn=lambda x: x),
        "digit": numerical_var(range(10), input_init_fn=lambda x: x if x < START else 0),
        "wave": var(5, input_init_fn=_first_wave),
        "turn": var(3, input_init_fn=lambda x: NEVER if x == END else LATER),
        "parked": numerical_var((0, 1)),
        "out": var(11, default=PAD),
        "done": var(2),
        "added": set_var([{HERE, PARKED, ORIGIN}], range=5),
        "marks": set_var([{START, PLUS}], range=13),
    }
    heads = {
        "wave_right": v_relative("wave", 1),
        "turn_right": v_relative("turn", 1),
        "sum": qkv(
            "added", "wave", "digit", output_spec=numerical_var([total / 3 for total in range(20)])
        ),
        "ended": qkv("marks", "token", "parked", output_spec=numerical_var((0, 0.5, 1))),
    }
    program = program_spec(
        variables,
        heads,
        rules=_rules(RuleBuilder(variables, heads)),
        output_name="out",
        input_range=13,
        halt_spec=halt_spec("done"),
        vocabulary=[*map(str, range(10)), "START", "+", "END"],
        text=TextFormat(
            symbols=(*DIGITS, "", "+"),
            answers=(*DIGITS, None),
            before=(START,),
            after=(END,),
            pattern=r"\d+\+\d+",
            example="34+56",
            strip="0",
        ),
        value_names={
            "wave": ("AHEAD", "HERE", "GONE", "PARKED", "ORIGIN"),
            "turn": ("LATER", "NOW", "NEVER"),
            "out": (*DIGITS, "PAD"),
            "sum": [f"{total}/3" for total in range(20)],
        },
    )
    return Entry(
        program=program,
        encode=_encode,
        decode=lambda outputs: write_number(digit for digit in outputs if digit != PAD),
        sample=sample_sum,
        expected=lambda text: add(*read_numbers(text, "addition")),
    )


def _first_wave(token: int) -> int:
    # + starts the first number's wave and then waits for the second's, as START does for the first.
    return {START: GONE, PLUS: HERE, END: ORIGIN}.get(token, AHEAD)


def _rules(builder: RuleBuilder) -> RuleBuilder:
    for wave in builder.get("wave"):
        _move_wave(builder, wave)
    for turn in builder.get("turn"):
        if turn == LATER:
            for right in builder.get("turn_right"):
                if right != LATER:
                    builder.set("turn", NOW)
        for third in builder.get("sum"):
            total = round(3 * third)
            if turn == NOW:
                _write_digit(builder, total)
            elif turn == NEVER:
                _write_carry(builder, total)
    for ended in builder.get("ended"):
        for done in builder.get("done"):
            if ended == 1 and not done:
                builder.set("done", 1)
    return builder


def _move_wave(builder: RuleBuilder, wave: int) -> None:
    """One position to the left; a digit is passed once, a mark is where it stays."""
    if wave == HERE:
        builder.set("wave", GONE)
    elif wave in (AHEAD, GONE):
        for right in builder.get("wave_right"):
            if wave == AHEAD and right in (HERE, ORIGIN):
                builder.set("wave", HERE)
            elif wave == GONE and right == HERE:
                builder.set("wave", PARKED)
                for parked in builder.get("parked"):
                    if not parked:
                        builder.set("parked", 1)


def _write_digit(builder: RuleBuilder, total: int) -> None:
    """The sum's last digit, once; a carry of 0 at the very end is not written."""
    for out in builder.get("out"):
        if out == PAD and total:
            builder.set("out", total % 10)
        elif out == PAD:
            for ended in builder.get("ended"):
                if ended < 1:
                    builder.set("out", 0)


def _write_carry(builder: RuleBuilder, total: int) -> None:
    """END's digit is the carry, which is 0 or 1."""
    for carry in builder.get("digit"):
        if carry < 2:
            builder.set("digit", total // 10)


def _encode(text: str) -> list[int]:
    first, second = read_numbers(text, "addition")
    return [START, *map(int, first), PLUS, *map(int, second), END]
