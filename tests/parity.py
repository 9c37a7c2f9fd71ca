"""The paper's three parity programs, as printed (Figures 2, 7 and 8, misprints put right)."""

from __future__ import annotations

from collections.abc import Iterable

from espalier.language import (
    Program,
    halt_spec,
    numerical_var,
    program_spec,
    qkv,
    v_relative,
    var,
)

START = 2


def sequential_absolute(positions: int) -> Program:
    def ffn_fn(z):
        if not z["done"] and z["done_left"]:
            z["parity"] = z["parity_left"] ^ z["parity"]
            z["done"] = 1

    return program_spec(
        variables={
            "parity": var(range=2, input_init_fn=lambda x: x),
            "done": var(range=2, position_init_fn=lambda x: x == 0),
            "idx": var(range=positions, position_init_fn=lambda x: x),
            "idx_left": var(range=positions, position_init_fn=lambda x: max(0, x - 1)),
        },
        heads={
            "parity_left": qkv("idx_left", "idx", "parity"),
            "done_left": qkv("idx_left", "idx", "done"),
        },
        ffn_fn=ffn_fn,
        output_name="parity",
        halt_spec=halt_spec("done", 1),
        input_range=2,
        position_range=positions,
    )


def sequential_relative() -> Program:
    def ffn_fn(z):
        if z["done"] != 1 and z["done_left"] == 1:
            z["parity"] = z["parity_left"] ^ z["parity"]
            z["done"] = 1

    return program_spec(
        variables={
            "parity": var(range=2, input_init_fn=lambda x: 0 if x == START else x),
            "done": var(range=2, input_init_fn=lambda x: x == START),
        },
        heads={
            "parity_left": v_relative("parity", -1),
            "done_left": v_relative("done", -1),
        },
        ffn_fn=ffn_fn,
        output_name="parity",
        input_range=3,
        position_range=None,
        halt_spec=halt_spec("done", halt_value=1),
    )


def sum_modulo(buckets: int) -> Program:
    """Tells apart up to `buckets` - 1 ones."""

    def ffn_fn(z):
        num_ones = round(1 / z["x"]) - 1
        z["parity"] = int(num_ones % 2 != 0)

    return program_spec(
        variables={
            "parity": var(range=2),
            "start": numerical_var(input_init_fn=lambda x: float(x == START), values=(0, 1)),
            "start_or_one": var(range=2, input_init_fn=lambda x: x in {1, START}),
            "query": var(range=2, default=1),
        },
        heads={
            "x": qkv(
                "query",
                "start_or_one",
                "start",
                output_spec=numerical_var(values=sorted(1 / (ones + 1) for ones in range(buckets))),
            )
        },
        ffn_fn=ffn_fn,
        output_name="parity",
        input_range=3,
        position_range=None,
    )


def prefix_parities(bits: Iterable[int]) -> list[int]:
    parities, parity = [], 0
    for bit in bits:
        parity = (parity + bit) % 2
        parities.append(parity)
    return parities
