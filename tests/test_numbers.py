"""Numbers mean the same to the interpreter, to the weights and to fractions: the law of numbers."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import espalier as es
import fractions_oracle as oracle
from espalier.language import numerical_var, program_spec, qkv, var
from espalier.language.exact import meant

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
@settings(max_examples=settings().max_examples // 2)
def test_random_numerical_programs_do_what_fractions_say(seed: int, layers: int) -> None:
    dice = Random(seed)
    recipe = oracle.random_recipe(dice)
    check(recipe, oracle.random_tokens(dice, recipe, dice.choice([2, 4, 12, 12, 30])), layers)


@given(st.integers(0, 2**32))
@settings(max_examples=max(3, settings().max_examples // 20))
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
    refused, count = 0, 80
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


def majority(values=(0, 1)) -> es.Program:
    """1 where the mean of the bits belongs to the lower bucket, 2 where to the upper."""
    return program_spec(
        {"x": numerical_var((0, 1), input_init_fn=float), "all": var(1), "out": var(3)},
        {"mean": qkv("all", "all", "x", output_spec=numerical_var(values))},
        ffn_fn=lambda z: z.update(out=1 + int(z["mean"] == values[1])),
        output_name="out",
        input_range=2,
    )


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("ones", "length"),
    [(4096, 8191), (5001, 10_001), (5000, 10_001), (10_000, 20_000), (10_001, 20_000)],
)
def test_one_vote_decides_and_a_tie_is_below(ones: int, length: int, dtype: torch.dtype) -> None:
    tokens, expected = [1] * ones + [0] * (length - ones), 1 + (2 * ones > length)
    program = majority()
    assert es.interpret_many(program, [tokens], max_layers=1)[0].outputs[0] == expected
    assert es.compile_program(program, dtype=dtype).run(tokens, max_layers=1).outputs[0] == expected


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("first", [0.5, 0.5 + 2**-14, 0.5 + 2**-40, 0.5 - 2**-40, 0.5 + 2**-53])
def test_no_first_value_falls_between_the_buckets(first: float, dtype: torch.dtype) -> None:
    program = program_spec(
        {"x": numerical_var((0, 1), default=first), "out": var(3)},
        ffn_fn=lambda z: z.update(out=1 + int(z["x"])),
        output_name="out",
        input_range=1,
    )
    expected = [1 + (first > 0.5)]
    assert es.interpret(program, [0], max_layers=1).outputs == expected
    assert es.compile_program(program, dtype=dtype).run([0], max_layers=1).outputs == expected


@pytest.mark.parametrize(
    "values",
    [[Fraction(1, k) for k in range(20, 0, -1)], [Fraction(k, 100) for k in range(0, 101, 9)]],
    ids=["1/k", "k/100"],
)
def test_a_number_rewritten_to_the_next_bucket_ties_with_it(values: list[Fraction]) -> None:
    """One of two positions moves up a bucket; the head then averages the two."""
    for low in range(len(values) - 1):
        buckets = tuple(values)
        table = {(low, low): low + 1}
        head = oracle.Average(buckets, by_group=False, offsets=None)
        first = (values[low], values[min(low + 2, len(values) - 1)])
        check(oracle.Recipe(buckets, first, (0, 0), (head,), table, causal=True), [0, 0, 1], 3)


def test_too_long_an_input_is_refused_with_the_means_that_it_could_confuse() -> None:
    program = majority((0.0, 2 / 3))
    model = es.compile_program(program)
    longest = model.weights.longest
    assert longest is not None
    with pytest.raises(es.ProgramError, match=r"'mean' could then report \d+/\d+ and \d+/\d+"):
        model.run([0] * (longest + 1), max_layers=1)


@given(
    st.fractions(-(10**4), 10**4, max_denominator=1000) | st.decimals(-1, 1, places=9).map(Fraction)
)
def test_a_float_stands_for_the_fraction_that_was_written(fraction: Fraction) -> None:
    assert meant(float(fraction)) == fraction


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(-1e6, 1e6))
def test_fractions_are_ordered_as_floats_are_and_round_to_them(one: float, other: float) -> None:
    assert float(meant(one)) == one
    assert (one < other) == (meant(one) < meant(other))
