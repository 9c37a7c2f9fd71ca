"""Programs written for the ALTA package whose rules say more than their runs ever do."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import espalier as es
from espalier.alta import lenient as pb
from espalier.alta.exclusion import exclude
from espalier.errors import ProgramError
from espalier.language import Rule, var

BOS, SIZE = 0, 10


def sorting(builder):
    """Numbers in order, by a share that is declared without buckets and divided by."""

    def smaller(token):
        return frozenset(range(token + 1))

    def step(z):
        if z["state"] == 0:
            z["place"] = round(1 / z["x"]) - 1
            z["state"] = 1
        elif z["state"] == 1:
            z["sorted"] = z["output"]

    return builder.program_spec(
        variables={
            "inputs": builder.input_var(SIZE),
            "indices": builder.position_var(SIZE),
            "state": builder.var(2),
            "query": builder.set_var(
                range=SIZE, values={smaller(n) for n in range(SIZE)}, input_init_fn=smaller
            ),
            "bos": builder.numeric_var(position_init_fn=lambda place: float(place == 0)),
            "place": builder.var(SIZE),
            "sorted": builder.var(SIZE),
        },
        heads={
            "x": builder.qkv("query", "inputs", "bos"),
            "output": builder.qkv("indices", "place", "inputs"),
        },
        ffn_fn=step,
        output_name="sorted",
        input_range=SIZE,
        position_range=SIZE,
        generate_rules=False,
    )


def test_numbers_without_buckets_are_interpreted_strictly_and_compiled_leniently() -> None:
    source, strict = random.Random(0), sorting(es.alta)
    with pytest.raises(ProgramError, match="ZeroDivisionError"):
        es.compile_program(strict)
    program = sorting(pb)
    with pytest.warns(UserWarning, match="ZeroDivisionError is left out"):
        model = es.compile_program(program)
    for _ in range(20):
        numbers = source.sample(range(1, SIZE), k=source.randint(1, SIZE - 1))
        for found in (
            es.interpret(strict, [BOS, *numbers], max_layers=2),
            es.interpret(program, [BOS, *numbers], max_layers=2),
            model.run([BOS, *numbers], max_layers=2),
        ):
            assert found.outputs == [BOS, *sorted(numbers)]


def test_buckets_that_cannot_be_known_are_asked_for() -> None:
    def build(**settings):
        spec = es.alta.numeric_var(input_init_fn=lambda token: float(token), **settings)
        variables = {"number": spec, "one": es.alta.var(1), "out": es.alta.var(2)}
        heads = {"mean": es.alta.qkv("one", "one", "number")}
        return es.alta.program_spec(variables, heads, lambda z: None, "out", 3)

    with pytest.raises(ProgramError, match=r"'number' .* values="):
        build()
    assert build(values=(0, 1, 2)).specs["mean"].values == (0, 1, 2)


def test_a_pointer_may_run_out_of_its_range_and_a_symbol_be_none() -> None:
    variables = {"pointer": pb.position_var(4), "symbol": pb.var(3), "stop": pb.var(2)}
    x = pb.MLPBuilder(variables, {})
    for pointer in x.get("pointer"):
        x.set("pointer", pointer + 1)
    with pytest.warns(UserWarning, match="'symbol' to None"):
        x.set("symbol", None)
    for stop in x.get("stop"):
        if stop:
            x.set("symbol", 1)
    for pointer in x.get("pointer"):
        if pointer == 2:
            x.set("symbol", 2)
    with pytest.warns(UserWarning, match="could hold together"):
        program = pb.program_spec_from_rules(variables, {}, x.rules, "pointer", 1, 4)
    assert es.interpret(program, [0] * 4, max_layers=2).outputs == [2, 3, 3, 3]


@settings(max_examples=40)
@given(st.integers(0, 10**6))
def test_rules_told_apart_do_what_they_did_where_one_held(seed: int) -> None:
    """The first of two that held together still holds, and wherever one held, it alone does."""
    source, names = random.Random(seed), ("a", "b", "c")
    variables = {name: var(3) for name in names}
    rules = [
        Rule(
            {name: source.randrange(3) for name in source.sample(names, k=source.randint(1, 2))},
            "c",
            old,
            (old + 1) % 3,
        )
        for old in range(3)
        for _ in range(2)
        if source.random() < 0.9
    ]
    rules = [
        rule
        for rule in rules
        if all(a.values == (rule.old,) for a in rule.antecedent if a.variable == "c")
    ]
    told, _ = exclude(rules, variables)
    for state in ({"a": a, "b": b, "c": c} for a in range(3) for b in range(3) for c in range(3)):
        before = [rule for rule in rules if rule.holds(state)]
        after = [rule for rule in told if rule.holds(state)]
        assert len(after) <= len(before)
        assert bool(after) == bool(before)
        if len(before) == 1:
            assert after[0].new == before[0].new
