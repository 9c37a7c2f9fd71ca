"""The work whose cost `benchmarks.scaling` measures: by size, what is done, step by step."""

from __future__ import annotations

import itertools
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

LENGTH, BATCH = 20, 100
Steps = dict[str, Callable[[], object]]


def rules(size: int) -> Steps:
    """So many rules over three variables, run for 4 layers on 100 inputs of 20 tokens."""
    import espalier as es
    from espalier.language import Rule, program_spec, var

    side = round(size ** (1 / 3)) + 1
    values = list(itertools.islice(itertools.product(range(side), repeat=3), size))
    source = random.Random(0)
    made = [
        Rule(dict(zip("abc", one, strict=True)), "out", 0, source.randrange(1, 4)) for one in values
    ]
    variables = {
        name: var(side, input_init_fn=lambda token, k=k: token // side**k % side)
        for k, name in enumerate("abc")
    }
    held: dict[str, Any] = {}

    def build() -> None:
        held["program"] = program_spec(
            variables | {"out": var(4)}, rules=made, output_name="out", input_range=side**3
        )

    def compiled() -> None:
        held["model"] = es.compile_program(held["program"])

    inputs = [[source.randrange(side**3) for _ in range(LENGTH)] for _ in range(BATCH)]
    return {
        "build": build,
        "compile": compiled,
        "interpret, first": lambda: es.interpret_many(held["program"], inputs, max_layers=4),
        "interpret": lambda: es.interpret_many(held["program"], inputs, max_layers=4),
        "run, first": lambda: held["model"].run_many(inputs, max_layers=4),
        "run": lambda: held["model"].run_many(inputs, max_layers=4),
    }


def _machines(name: str, inputs: list[list[int]], layers: int | None, **settings: Any) -> Steps:
    """Both machines on these inputs, by a program of the zoo."""
    import espalier as es
    from espalier import zoo

    entry = zoo.load(name, **settings)
    model = es.compile_program(entry.program)
    layers = entry.max_layers if layers is None else layers
    return {
        "interpret": lambda: es.interpret_many(entry.program, inputs, max_layers=layers),
        "run": lambda: model.run_many(inputs, max_layers=layers),
    }


def _bits(count: int, length: int, seed: int = 0) -> list[list[int]]:
    source = random.Random(seed)
    return [[2, *(source.randrange(2) for _ in range(length - 1))] for _ in range(count)]


def positions(size: int) -> Steps:
    """One input of so many tokens, 20 layers of a head that looks at the token before."""
    return _machines("parity-sequential-relative", _bits(1, size), 20)


def seen(size: int) -> Steps:
    """One input of so many tokens, all of which every position attends to."""
    return _machines("parity-sum-modulo", _bits(1, size), None, buckets=100)


def layers(size: int) -> Steps:
    """One input of 20 tokens, for so many layers."""
    import espalier as es
    from espalier.language import program_spec, v_relative, var

    def step(z: Any) -> None:
        z["n"] = (z["n"] + z["before"] + 1) % 7

    program = program_spec(
        {"n": var(7, input_init_fn=lambda token: token)},
        {"before": v_relative("n", 0)},
        ffn_fn=step,
        output_name="n",
        input_range=7,
    )
    model = es.compile_program(program)
    inputs = [[n % 7 for n in range(LENGTH)]]
    return {
        "interpret": lambda: es.interpret_many(program, inputs, max_layers=size),
        "run": lambda: model.run_many(inputs, max_layers=size),
    }


def batch(size: int) -> Steps:
    """So many inputs of 20 tokens, until they halt."""
    return _machines("parity-sequential-relative", _bits(size, LENGTH), None)


def sentences(size: int) -> Steps:
    """`write_pairs` of so many lines of 2 to 6 words, by an LSTM of 16 units, in parts."""
    import espalier as es
    from espalier.data import stretches
    from espalier.nets.lstm import Vocabulary
    from espalier.syntax import PAIRS_AT_ONCE, write_pairs

    words = [f"w{n}" for n in range(200)]
    known = Vocabulary((*words, "<unk>"), (1,) * 201)
    model = es.language_model(vocabulary_size=201, hidden=16, words=known)
    folder = Path(tempfile.mkdtemp())
    source = random.Random(0)
    with (folder / "text.txt").open("w") as file:
        for _ in range(size):
            file.write(" ".join(source.choices(words, k=source.randint(2, 6))) + "\n")
    held: dict[str, Any] = {}

    def scan() -> None:
        held["plan"] = stretches([folder / "text.txt"], format="text", pairs=PAIRS_AT_ONCE)

    return {"scan": scan, "pairs": lambda: write_pairs(model, held["plan"], folder / "pairs")}


WORK: dict[str, tuple[Callable[[int], Steps], tuple[int, ...]]] = {
    "rules": (rules, (100, 1_000, 10_000, 100_000)),
    "positions": (positions, (125, 250, 500, 1_000, 2_000, 4_000)),
    "positions, all seen": (seen, (125, 250, 500, 1_000, 2_000, 4_000)),
    "layers": (layers, (20, 200, 2_000)),
    "batch": (batch, (1, 10, 100, 1_000, 10_000)),
    "sentences": (sentences, (1_000, 10_000, 100_000, 1_000_000)),
}
