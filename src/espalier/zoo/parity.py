"""Whether a bit string has an odd number of ones: the paper's three programs (D.1).

The functions are the paper's own, as printed in Figures 2, 7 and 8 (with the misprints mended).
The last output is the parity of the whole string.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from dataclasses import replace
from typing import Any

from espalier.errors import ProgramError
from espalier.language import (
    Program,
    TextFormat,
    as_items,
    check_range,
    halt_spec,
    numerical_var,
    program_spec,
    qkv,
    v_relative,
    var,
)
from espalier.zoo.entry import Entry, last_output

START = 2

State = MutableMapping[str, Any]


def sequential_absolute(positions: int = 256) -> Entry:
    """Position i waits for position i - 1, found by its number."""

    def step(z: State) -> None:
        if not z["done"] and z["done_left"]:
            z["parity"] = z["parity_left"] ^ z["parity"]
            z["done"] = 1

    program = program_spec(
        variables={
            "parity": var(2, input_init_fn=lambda x: x),
            "done": var(2, position_init_fn=lambda i: i == 0),
            "idx": var(positions, position_init_fn=lambda i: i),
            "idx_left": var(positions, position_init_fn=lambda i: max(0, i - 1)),
        },
        heads={
            "parity_left": qkv("idx_left", "idx", "parity"),
            "done_left": qkv("idx_left", "idx", "done"),
        },
        ffn_fn=step,
        output_name="parity",
        input_range=2,
        position_range=positions,
        halt_spec=halt_spec("done", halt_value=1),
        text=_text(()),
    )
    return _entry(program, prefix=[])


def sequential_relative() -> Entry:
    """Position i waits for position i - 1, found by looking one to the left."""

    def step(z: State) -> None:
        if z["done"] != 1 and z["done_left"] == 1:
            z["parity"] = z["parity_left"] ^ z["parity"]
            z["done"] = 1

    program = program_spec(
        variables={
            "parity": var(2, input_init_fn=lambda x: 0 if x == START else x),
            "done": var(2, input_init_fn=lambda x: x == START),
        },
        heads={
            "parity_left": v_relative("parity", -1),
            "done_left": v_relative("done", -1),
        },
        ffn_fn=step,
        output_name="parity",
        input_range=3,
        halt_spec=halt_spec("done", halt_value=1),
        vocabulary=["0", "1", "START"],
        text=_text((START,)),
    )
    return _entry(program, prefix=[START])


def sum_modulo(buckets: int = 256) -> Entry:
    """One head averages START over START and the ones: 1 / (ones + 1), which names the count."""
    buckets = check_range("buckets", buckets)

    def step(z: State) -> None:
        ones = round(1 / z["x"]) - 1
        z["parity"] = int(ones % 2 != 0)

    program = program_spec(
        variables={
            "parity": var(2),
            "start": numerical_var((0, 1), input_init_fn=lambda x: float(x == START)),
            "start_or_one": var(2, input_init_fn=lambda x: x in {1, START}),
            "query": var(2, default=1),
        },
        heads={
            "x": qkv(
                "query",
                "start_or_one",
                "start",
                output_spec=numerical_var([1 / (ones + 1) for ones in reversed(range(buckets))]),
            )
        },
        ffn_fn=step,
        output_name="parity",
        input_range=3,
        vocabulary=["0", "1", "START"],
        text=replace(_text((START,)), most={"1": buckets - 1}, max_layers=1),
    )
    entry = _entry(program, prefix=[START])
    return replace(
        entry,
        encode=lambda bits: [START, *_counted(bits, buckets)],
        # Surplus ones become zeros, so that long samples can be counted too.
        sample=lambda source, size: _with_at_most(buckets - 1, entry.sample(source, size)),
        max_layers=1,
    )


def _counted(bits: str | Iterable[int], buckets: int) -> list[int]:
    """The bits, if there is a bucket for the number of their ones."""
    found = read_bits(bits)
    if sum(found) >= buckets:
        raise ProgramError(
            f"parity-sum-modulo has {buckets} buckets and counts up to {buckets - 1} ones; found "
            f'{sum(found)}; load("parity-sum-modulo", buckets={sum(found) + 1})'
        )
    return found


def _with_at_most(ones: int, bits: str) -> str:
    return bits.replace("1", "0", max(0, bits.count("1") - ones))


def _text(before: tuple[int, ...]) -> TextFormat:
    return TextFormat(
        ("0", "1"),
        ("0", "1"),
        before=before,
        example="101",
        least=0 if before else 1,
        choose="last",
    )


def _entry(program: Program, *, prefix: list[int]) -> Entry:
    return Entry(
        program=program,
        encode=lambda bits: prefix + read_bits(bits),
        decode=last_output,
        sample=lambda source, size: "".join(source.choices("01", k=size)),
        expected=lambda bits: sum(read_bits(bits)) % 2,
    )


def read_bits(bits: str | Iterable[int]) -> list[int]:
    """The bits of "101", "1 0 1" or [1, 0, 1]."""
    if isinstance(bits, str):
        symbols = list("".join(bits.split()))
    else:
        symbols = [str(bit) for bit in as_items(bits, "the bits, as in '101' or [1, 0, 1],")]
    for place, symbol in enumerate(symbols):
        if symbol not in ("0", "1"):
            raise ProgramError(f"parity takes bits; place {place} of {bits!r} holds {symbol!r}")
    return [int(symbol) for symbol in symbols]
