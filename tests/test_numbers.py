"""Numbers mean the same to the interpreter, to the weights and to fractions: the law of numbers."""

from __future__ import annotations

from random import Random

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import espalier as es
import fractions_oracle as oracle

TYPES = (torch.float32, torch.float64)


def check(recipe: oracle.Recipe, tokens: list[int], layers: int) -> None:
    """Oracle, interpreter and weights agree on every variable after every layer."""
    program = oracle.build(recipe)
    trace = es.interpret(program, tokens, max_layers=layers)
    for layer, (seen, numbers) in zip(range(1, layers + 1), oracle.run(recipe, tokens)):  # noqa: B905
        for position, number in enumerate(numbers):
            state = trace.state(layer, position)
            assert state["x"] == float(number)
            assert [state[f"seen{n}"] for n in range(len(seen))] == [s[position] for s in seen]
    for dtype in TYPES:
        model = es.compile_program(program, dtype=dtype)
        found = es.verify(program, [tokens], model=model, max_layers=layers)
        assert found.ok, str(found)


@given(st.integers(0, 2**32), st.integers(1, 4))
def test_random_numerical_programs_do_what_fractions_say(seed: int, layers: int) -> None:
    dice = Random(seed)
    recipe = oracle.random_recipe(dice)
    check(recipe, oracle.random_tokens(dice, recipe, dice.choice([2, 4, 12, 12, 30])), layers)


@given(st.integers(0, 2**32))
@settings(max_examples=max(4, settings().max_examples // 20))
def test_long_averages_do_what_fractions_say(seed: int) -> None:
    dice = Random(seed)
    recipe = oracle.random_recipe(dice, long=True)
    tokens = oracle.random_tokens(dice, recipe, 20_000)
    program = oracle.build(recipe)
    models = [es.compile_program(program, dtype=dtype) for dtype in TYPES]
    for layers, (seen, _) in zip(range(1, 3), oracle.run(recipe, tokens)):  # noqa: B905
        runs = [es.interpret_many(program, [tokens], max_layers=layers)[0]]
        runs += [model.run(tokens, max_layers=layers) for model in models]
        assert [run.outputs for run in runs] == [seen[0]] * 3


def test_hardly_any_natural_program_is_refused() -> None:
    refused, count = 0, 300
    for seed in range(count):
        program = oracle.build(oracle.random_recipe(Random(seed), long=seed % 2 == 0))
        for dtype in TYPES:
            try:
                model = es.compile_program(program, dtype=dtype)
            except es.CompileError:
                refused += 1
            else:
                refused += (model.weights.longest or 20_000) < 20_000
    assert refused <= 0.05 * 2 * count
