"""Single interventions on SCAN inputs of average length: 10,000 on symbols, fewer by weights.

Random values at random places (and edges cut, rules knocked out) of 20 inputs that need as many
layers as inputs do on average, seed 0. Runs of one input share what they have in common; the row
without sharing gives each run an engine of its own. The last column is a ratio within this run.

    python -m benchmarks interventions
"""

from __future__ import annotations

import random
import time
from typing import Any

import numpy as np

import espalier as es
from benchmarks.harness import report
from espalier.data import generate_examples
from espalier.interpreter import IntervenedMachine
from espalier.interventions import Cut, Intervention, KnockOut, Set, make_plan, settable
from espalier.language import Program

SIZE, INPUTS, ALONE, BY_WEIGHTS = 10_000, 20, 500, 40
# No input needs more; what never halts under an intervention ends there.
MAX_LAYERS = 100


def main() -> None:
    dice = random.Random(0)
    entry = es.zoo.load("scan")
    program = entry.program
    tokens = [entry.encode(one.command) for one in dice.sample(list(generate_examples()), 400)]
    layers = es.interpret_many(program, tokens).layers
    nearest = np.argsort(np.abs(np.asarray(layers) - np.mean(layers)), kind="stable")[:INPUTS]
    known = {n: es.interpret(program, tokens[n]) for n in nearest.tolist()}
    rules = {n: sorted({int(r) for r in known[n].cache.units.rule}) for n in known}
    batch, changes = [], []
    for number in dice.choices(list(known), k=SIZE):
        batch.append(tokens[number])
        changes.append([single(dice, program, known[number], rules[number])])
    options = {"interventions": changes, "max_layers": MAX_LAYERS}
    shared = timed(lambda: es.interpret_many(program, batch, **options), SIZE)
    few = slice(0, ALONE)
    alone = timed(lambda: one_by_one(program, batch[few], changes[few]), ALONE)
    model, some = es.compile_program(program), slice(0, BY_WEIGHTS)
    options["interventions"] = changes[some]
    weights = timed(lambda: model.run_many(batch[some], **options), BY_WEIGHTS)
    rows = [
        {"engine": "interpreter", "runs": SIZE, "s": shared * SIZE, "ms/run": 1e3 * shared},
        {"engine": "without sharing", "runs": ALONE, "s": alone * ALONE, "ms/run": 1e3 * alone},
        {
            "engine": "weights",
            "runs": BY_WEIGHTS,
            "s": weights * BY_WEIGHTS,
            "ms/run": 1e3 * weights,
        },
    ]
    report("interventions", [{**row, "times": row["ms/run"] / (1e3 * shared)} for row in rows])


def single(dice: random.Random, program: Program, trace: Any, rules: list[int]) -> Intervention:
    """One intervention that this run reaches: eight in ten set a value."""
    layer, length = dice.randint(1, trace.layers), len(trace.tokens)
    position, kind = dice.randrange(length), dice.random()
    if kind < 0.1:
        return KnockOut(rule=dice.choice(rules), layer=layer, position=position)
    if kind < 0.2:
        heads = [n for n, h in program.heads.items() if h.relative_positions is None]
        return Cut(dice.choice(heads), layer=layer, query=position, key=dice.randrange(length))
    name = dice.choice(list(program.specs))
    value = dice.choice(settable(program, name))
    sublayer = "attention" if name in program.heads else "mlp"
    return Set(name, layer=layer, position=position, value=value, sublayer=sublayer)


def one_by_one(program: Program, batch: list[Any], changes: list[Any]) -> None:
    plan = make_plan(program, changes, [len(tokens) for tokens in batch], checked=False)
    machine = IntervenedMachine(plan)
    machine.run(machine.start(batch), max_layers=MAX_LAYERS)


def timed(work: Any, runs: int) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) / runs


if __name__ == "__main__":
    main()
