"""Programs with many rules: a call, a batch, and a run without rules, each against its slow way.

Rules over three variables, each with a value of its own to write. "anew" makes the interpreter's
tables at every call; "computed" computes all units of the MLP instead of looking up those that are
on; "explored" follows all paths of a function before its first answer. All ratios are within this
run.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import espalier as es
from benchmarks.harness import best_of, report
from espalier.language import Program, Rule, program_spec, var
from espalier.nets.compiled import feedforward

SIZES = {16_466: (27, 27, 23), 100_000: (50, 50, 40)}
LENGTH, LAYERS, BATCH = 20, 4, 100


def program_of(rules: int) -> Program:
    """A program with so many rules over three variables."""
    source = random.Random(0)
    names = ("a", "b", "c")
    values = itertools.islice(itertools.product(*map(range, SIZES[rules])), rules)
    return program_spec(
        {
            name: var(size, input_init_fn=lambda token, size=size: token % size)
            for name, size in zip(names, SIZES[rules], strict=True)
        }
        | {"out": var(4)},
        rules=[
            Rule(dict(zip(names, found, strict=True)), "out", 0, source.randrange(1, 4))
            for found in values
        ],
        output_name="out",
        input_range=1000,
    )


def measure(rules: int) -> list[dict[str, Any]]:
    program = program_of(rules)
    source = random.Random(1)
    batch = [[source.randrange(1000) for _ in range(LENGTH)] for _ in range(BATCH)]
    model = es.compile_program(program)
    runs = es.interpret_many(program, batch, max_layers=LAYERS)
    assert model.run_many(batch, max_layers=LAYERS) == runs
    assert computed(lambda: model.run_many(batch, max_layers=LAYERS)) == runs

    def row(what: str, work: Callable[[], object], beside: Callable[[], object]) -> dict[str, Any]:
        fast, other = best_of(5, work), best_of(2, beside)
        return {
            "rules": rules,
            "what": what,
            "ms": 1e3 * fast,
            "slow way ms": 1e3 * other,
            "ratio": other / fast,
        }

    return [
        row(
            "interpret, a call / anew",
            lambda: es.interpret(program, batch[0], max_layers=LAYERS),
            lambda: es.interpret(replace(program), batch[0], max_layers=LAYERS),
        ),
        row(
            f"interpret_many, {BATCH} sequences / {BATCH} calls",
            lambda: es.interpret_many(program, batch, max_layers=LAYERS),
            lambda: [es.interpret(program, tokens, max_layers=LAYERS) for tokens in batch],
        ),
        row(
            "run, 1 sequence / computed",
            lambda: model.run(batch[0], max_layers=LAYERS),
            lambda: computed(lambda: model.run(batch[0], max_layers=LAYERS)),
        ),
        row(
            f"run_many, {BATCH} sequences / computed",
            lambda: model.run_many(batch, max_layers=LAYERS),
            lambda: computed(lambda: model.run_many(batch, max_layers=LAYERS)),
        ),
    ]


def computed(work: Callable[[], object]) -> object:
    """What `work` gives where every unit of an MLP is computed."""
    little, feedforward.LITTLE = feedforward.LITTLE, 1 << 62
    try:
        return work()
    finally:
        feedforward.LITTLE = little


def counters(count: int) -> dict[str, Any]:
    """Counters in one function: how long its first answer takes, run as it is or explored."""
    names = [f"c{place}" for place in range(count)]

    def step(z: Any) -> None:
        for name in names:
            z[name] = (z[name] + 1) % 4

    def answer(**more: Any) -> float:
        began = time.perf_counter()
        program = program_spec(
            {name: var(4, input_init_fn=lambda token: token % 4) for name in names},
            ffn_fn=step,
            output_name=names[0],
            input_range=4,
            **more,
        )
        es.interpret(program, [0, 1, 2, 3], max_layers=3)
        return time.perf_counter() - began

    lazy, explored = min(answer(rules="lazy") for _ in range(5)), answer()
    return {
        "rules": 4 * count,
        "what": f"first answer of a function of {count} counters, lazy / explored",
        "ms": 1e3 * lazy,
        "slow way ms": 1e3 * explored,
        "ratio": explored / lazy,
    }


def main() -> None:
    rows = [row for rules in SIZES for row in measure(rules)]
    report("wide", [*rows, counters(6)])


if __name__ == "__main__":
    main()
