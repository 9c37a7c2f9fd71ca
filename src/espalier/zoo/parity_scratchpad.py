"""Parity with a scratchpad: a causal program that writes the parity of every prefix, then stops.

    START 1 0 1 1 =   ->   1 1 0 1 END

After = each position has to find one bit of the input, the t-th position the t-th bit. How far
away it is depends on the length n of the input alone: n positions to the left, for all of them.
No head can look "n to the left", but layers can count:

1.  `moving` is the token that has come from the left, one position per layer: after k layers a
    position holds the token k to its left.
2.  = watches for START, which reaches it after n + 1 layers. All later positions look
    at = through a head and see this in the same layer. At that moment the bit they need has just
    passed; it is in `passed`.

A position is done when START has come to it, since then nothing changes any more that another
position could need. So a text of n bits takes n + t + 2 layers at the t-th position after =, and
the program has no limit on n.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from typing import Any

from espalier.language import TextFormat, halt_spec, program_spec, qkv, v_relative, var
from espalier.zoo.entry import Entry, Writing
from espalier.zoo.parity import read_bits

# Tokens. The first three are also what the program writes.
ZERO, ONE, END, EQUALS, START = range(5)
VOCABULARY = ("0", "1", "END", "=", "START")

State = MutableMapping[str, Any]


def parity_scratchpad() -> Entry:
    """Bits, then =, and after it the parities of all prefixes, the last being the answer."""
    program = program_spec(
        variables={
            "parity": var(2, input_init_fn=lambda x: x == ONE),
            "moving": var(5, input_init_fn=lambda x: START if x == END else x),
            "passed": var(5),
            "writes": var(2, input_init_fn=lambda x: x == EQUALS),
            "written": var(2),
            "next": var(3, default=END),
            "done": var(2),
            "is_equals": var(2, input_init_fn=lambda x: x == EQUALS),
            "yes": var(2, default=1),
        },
        heads={
            "moving_left": v_relative("moving", -1),
            "moving_at_equals": qkv("yes", "is_equals", "moving"),
        },
        ffn_fn=_step,
        output_name="next",
        input_range=5,
        halt_spec=halt_spec("done"),
        vocabulary=VOCABULARY,
        text=TextFormat(
            symbols=("0", "1"),
            answers=("0", "1", None),
            before=(START,),
            after=(EQUALS,),
            example="101",
            least=0,
            choose="last",
            writes=True,
            stop=END,
        ),
        causal=True,
        value_names={"moving": VOCABULARY, "passed": VOCABULARY, "next": VOCABULARY[:3]},
    )
    return Entry(
        program=program,
        encode=lambda bits: [START, *read_bits(bits), EQUALS],
        decode=_last_parity,
        sample=lambda source, size: "".join(source.choices("01", k=size)),
        expected=lambda bits: sum(read_bits(bits)) % 2,
        writing=Writing(stop=END, most=len),
    )


def _step(z: State) -> None:
    moving = z["moving"]
    if z["writes"] and not z["written"] and z["moving_at_equals"] == START:
        bit = z["passed"]
        z["next"] = bit ^ z["parity"] if bit in (ZERO, ONE) else END
        z["written"] = 1
    if moving == EQUALS:
        z["writes"] = 1
    if moving != START:
        z["passed"] = moving
        z["moving"] = z["moving_left"]
    elif z["written"] or not z["writes"]:
        z["done"] = 1


def _last_parity(written: Iterable[int]) -> int:
    parities = [token for token in written if token != END]
    return parities[-1] if parities else 0
