"""Addition with a scratchpad: a causal program that writes a sum, least significant digit first.

    START 3 4 + 5 6 =   ->   0 9 END

The t-th position from = on (= is the 0th) writes the t-th digit of the sum, counted from the
right, so it needs the t-th digits of both numbers. Let = stand d to the right of +. The digit of
the second number is then 2t + 1 to the left, and that of the first 2t + 1 + d. Layers count these
distances:

1.  `moving` is the token that has come from the left, one position per layer: after k layers a
    position holds the token k to its left.
2.  A bell rings at = in layer 1, and at each later position two layers after its left neighbour:
    in layer 2t + 1, just when the digit of the second number arrives. It rings again at = when +
    has come there, d layers later, and continues in the same way: now the first number's digit
    arrives. If + (or START) has come before the bell, the number has no such digit.
3.  The digits are added into `total` as they arrive. The carry need not be written: the digit s
    that stands at a position came of its left neighbour's total or of one more, so there was a
    carry exactly if that total is larger than s.

Where both digits are missing, a carry is written as 1, and then END.

All heads look one position to the left, so the numbers may be of any lengths. A position is done
when it has written and START has come to it, since then nothing changes any more that another
position could need.
"""

from __future__ import annotations

from collections.abc import Iterable

from espalier.language import RuleBuilder, TextFormat, halt_spec, program_spec, v_relative, var
from espalier.zoo.entry import Entry, Writing
from espalier.zoo.numbers import DIGITS, add, read_numbers, sample_sum, write_number

# Tokens after the ten digits. Digits and END are what the program writes.
END, PLUS, EQUALS, START = 10, 11, 12, 13
VOCABULARY = (*DIGITS, "END", "+", "=", "START")
# After the totals 0 to 18: no digit has arrived.
MISSING = 19
# The bell waits, is about to ring for the second number, has rung for it, and so for the first.
WAITING, SOON, SECOND, SOON_AGAIN, FIRST, WRITTEN = range(6)


def addition_scratchpad() -> Entry:
    """Two numbers, then =, and after it the digits of their sum from the last to the first."""
    variables = {
        "digit": var(10, input_init_fn=lambda x: x if x < 10 else 0),
        "moving": var(14, input_init_fn=lambda x: START if x == END else x),
        "plus_came": var(2),
        "writes": var(2, input_init_fn=lambda x: x == EQUALS),
        "is_equals": var(2, input_init_fn=lambda x: x == EQUALS),
        "bell": var(6, input_init_fn=lambda x: SOON if x == EQUALS else WAITING),
        "total": var(20, default=MISSING),
        "carry": var(2),
        "next": var(11, default=END),
        "done": var(2),
    }
    heads = {
        "moving_left": v_relative("moving", -1),
        "bell_left": v_relative("bell", -1),
        "total_left": v_relative("total", -1),
    }
    rules = RuleBuilder(variables, heads)
    for part in (_move, _ring, _write):
        part(rules)
    program = program_spec(
        variables,
        heads,
        rules=rules,
        output_name="next",
        input_range=14,
        halt_spec=halt_spec("done"),
        vocabulary=VOCABULARY,
        text=TextFormat(
            symbols=(*DIGITS, "", "+"),
            answers=(*DIGITS, None),
            before=(START,),
            after=(EQUALS,),
            pattern=r"\d+\+\d+",
            example="34+56",
            backwards=True,
            strip="0",
            writes=True,
            stop=END,
        ),
        causal=True,
        value_names={
            "moving": VOCABULARY,
            "bell": ("WAITING", "SOON", "SECOND", "SOON_AGAIN", "FIRST", "WRITTEN"),
            "total": (*map(str, range(MISSING)), "MISSING"),
            "next": (*DIGITS, "END"),
        },
    )
    return Entry(
        program=program,
        encode=_encode,
        decode=_decode,
        sample=sample_sum,
        expected=lambda text: add(*read_numbers(text, "addition-scratchpad")),
        writing=Writing(stop=END, most=len),
    )


def _move(rules: RuleBuilder) -> None:
    """Every token goes one position to the right, until START has come."""
    for moving in rules.get("moving"):
        if moving != START:
            for left in rules.get("moving_left"):
                rules.set("moving", left)
                if left == PLUS:
                    rules.set("plus_came", 1)
                if left == EQUALS:
                    rules.set("writes", 1)
        else:
            for writes, bell in rules.get("writes", "bell"):
                if not writes or bell == WRITTEN:
                    rules.set("done", 1)


def _ring(rules: RuleBuilder) -> None:
    """The bell goes from = to the right at half the speed, and takes the digits that arrive."""
    for writes, bell in rules.get("writes", "bell"):
        if not writes:
            continue
        if bell == WAITING:
            for left in rules.get("bell_left"):
                if left == SECOND:
                    rules.set("bell", SOON)
        elif bell == SOON:
            rules.set("bell", SECOND)
            for plus_came, arriving, total in rules.get("plus_came", "moving_left", "total"):
                if not plus_came and arriving < 10 and total == MISSING:
                    rules.set("total", arriving)
        elif bell == SECOND:
            _ring_again(rules)
        elif bell == SOON_AGAIN:
            rules.set("bell", FIRST)
            for arriving, total in rules.get("moving_left", "total"):
                if arriving < 10 and total == MISSING:
                    rules.set("total", arriving)
                elif arriving < 10 and total < 10:
                    rules.set("total", total + arriving)


def _ring_again(rules: RuleBuilder) -> None:
    """At = the bell rings after + has come, elsewhere after the left neighbour's."""
    for is_equals in rules.get("is_equals"):
        if is_equals:
            for arriving in rules.get("moving_left"):
                if arriving == PLUS:
                    rules.set("bell", SOON_AGAIN)
        else:
            for left in rules.get("bell_left"):
                if left == FIRST:
                    rules.set("bell", SOON_AGAIN)
                    for total, digit in rules.get("total_left", "digit"):
                        if digit < total < MISSING:
                            rules.set("carry", 1)


def _write(rules: RuleBuilder) -> None:
    """The digit of the sum, or the last carry, or END, which is there from the beginning."""
    for bell, written in rules.get("bell", "next"):
        if bell == FIRST and written == END:
            rules.set("bell", WRITTEN)
            for total, carry in rules.get("total", "carry"):
                if total < MISSING:
                    rules.set("next", (total + carry) % 10)
                elif carry:
                    rules.set("next", 1)


def _encode(text: str) -> list[int]:
    first, second = read_numbers(text, "addition-scratchpad")
    return [START, *map(int, first), PLUS, *map(int, second), EQUALS]


def _decode(written: Iterable[int]) -> str:
    """The number whose digits were written from the last to the first."""
    return write_number(reversed([token for token in written if token < 10]))
