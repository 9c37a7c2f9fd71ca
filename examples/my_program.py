"""A program of one's own: the largest token so far, at every position.

Run it with `espalier run examples/my_program.py:program START 3 1 4 1 5` (or trace, or compile).
"""

from espalier.language import halt_spec, program_spec, v_relative, var

SIZE = 8
START = SIZE


def step(z):
    # A maximum travels from left to right, one position per layer.
    if not z["done"] and z["done_left"]:
        z["largest"] = max(z["largest"], z["largest_left"])
        z["done"] = 1


program = program_spec(
    variables={
        "largest": var(SIZE, input_init_fn=lambda token: 0 if token == START else token),
        "done": var(2, input_init_fn=lambda token: token == START),
    },
    heads={
        "largest_left": v_relative("largest", -1),
        "done_left": v_relative("done", -1),
    },
    ffn_fn=step,
    output_name="largest",
    input_range=SIZE + 1,
    halt_spec=halt_spec("done"),
    vocabulary=[*map(str, range(SIZE)), "START"],
)
