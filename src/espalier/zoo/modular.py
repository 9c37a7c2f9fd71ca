"""Sums, differences and products of digits modulo m, with products first, as in 3+4*2-1.

The value travels from left to right, one position per layer, as a total and the term that may still
be multiplied. A last rule adds the two.
"""

from __future__ import annotations

import math
import random
import re

from espalier.errors import ProgramError
from espalier.language import (
    Program,
    RuleBuilder,
    TextFormat,
    Variable,
    check_range,
    halt_spec,
    program_spec,
    v_relative,
    var,
)
from espalier.zoo.entry import Entry, last_output
from espalier.zoo.writing import write_once

WAITING, PASSED, DONE = range(3)
NUMBER, OPERATION, ORIGIN = range(3)
OPERATIONS = "+-*"


def modular(modulus: int = 10) -> Entry:
    """Digits below `modulus`, joined by +, - and *; n + 1 layers for n symbols."""
    modulus = check_range("modulus", modulus)
    if not 2 <= modulus <= 10:
        raise ProgramError(f"modulus is {modulus}; digits allow 2 to 10")
    symbols = [*map(str, range(modulus)), *OPERATIONS, "START"]
    program = _program(modulus, symbols)
    return Entry(
        program=program,
        encode=lambda text: [len(symbols) - 1, *map(symbols.index, _checked(text, modulus))],
        decode=last_output,
        sample=lambda source, size: _sample(source, size, modulus),
        expected=lambda text: _value(_checked(text, modulus)) % modulus,
    )


def _program(modulus: int, symbols: list[str]) -> Program:
    kinds = [NUMBER] * modulus + [OPERATION] * len(OPERATIONS) + [ORIGIN]
    variables: dict[str, Variable] = {
        "token": var(len(symbols), input_init_fn=lambda token: token),
        "kind": var(3, input_init_fn=kinds.__getitem__),
        "total": var(modulus),
        "term": var(modulus),
        "value": var(modulus),
        "state": var(3, input_init_fn=lambda token: PASSED if kinds[token] == ORIGIN else WAITING),
    }
    passed_on = ("token", "total", "term", "state")
    heads = {f"{name}_left": v_relative(name, -1) for name in passed_on}
    return program_spec(
        variables,
        heads,
        rules=_rules(modulus, RuleBuilder(variables, heads)),
        output_name="value",
        input_range=len(symbols),
        halt_spec=halt_spec("state", DONE),
        vocabulary=symbols,
        text=TextFormat(
            symbols=tuple(symbols[:-1]),
            answers=tuple(map(str, range(modulus))),
            before=(len(symbols) - 1,),
            pattern=f"[0-{modulus - 1}]([-+*][0-{modulus - 1}])*",
            example="3+4*2",
            choose="last",
        ),
        value_names={
            "kind": ("NUMBER", "OPERATION", "ORIGIN"),
            "state": ("WAITING", "PASSED", "DONE"),
        },
    )


def _rules(modulus: int, builder: RuleBuilder) -> RuleBuilder:
    for state in builder.get("state"):
        if state == PASSED:
            builder.set("state", DONE)
            for total, term in builder.get("total", "term"):
                write_once(builder, "value", (total + term) % modulus)
        elif state == WAITING:
            for left, kind in builder.get("state_left", "kind"):
                if left == PASSED:
                    builder.set("state", PASSED)
                    if kind == NUMBER:
                        _take(modulus, builder)
                    else:
                        _pass_on(builder)
    return builder


def _pass_on(builder: RuleBuilder) -> None:
    for name in ("total", "term"):
        for left in builder.get(f"{name}_left"):
            write_once(builder, name, left)


def _take(modulus: int, builder: RuleBuilder) -> None:
    """A number joins the term to its left, or closes it and begins its own."""
    for before in builder.get("token_left"):
        if before < modulus:
            continue
        if before == modulus + OPERATIONS.index("*"):
            for total in builder.get("total_left"):
                write_once(builder, "total", total)
            for term, number in builder.get("term_left", "token"):
                if number < modulus:
                    write_once(builder, "term", term * number % modulus)
        else:
            for total, term in builder.get("total_left", "term_left"):
                write_once(builder, "total", (total + term) % modulus)
            sign = -1 if before == modulus + OPERATIONS.index("-") else 1
            for number in builder.get("token"):
                if number < modulus:
                    write_once(builder, "term", sign * number % modulus)


def _checked(text: str, modulus: int) -> str:
    """The expression without spaces, if it is one."""
    plain = "".join(text.split()) if isinstance(text, str) else ""
    digit = f"[0-{modulus - 1}]"
    if not re.fullmatch(f"{digit}([-+*]{digit})*", plain):
        raise ProgramError(
            f"modular takes digits from 0 to {modulus - 1} joined by + - and *, as in '3+4*2'; "
            f"found {text!r}"
        )
    return plain


def _value(text: str) -> int:
    """The value of a checked expression: a sum of terms, each a product."""
    terms = re.findall(r"([-+]?)([0-9](?:[*][0-9])*)", text)
    return sum(
        (-1 if sign == "-" else 1) * math.prod(map(int, product.split("*")))
        for sign, product in terms
    )


def _sample(source: random.Random, size: int, modulus: int) -> str:
    """An expression of about `size` symbols."""
    numbers = [str(source.randrange(modulus)) for _ in range(size // 2 + 1)]
    return "".join(number + source.choice(OPERATIONS) for number in numbers[:-1]) + numbers[-1]
