"""Programs written with the ALTA package's names mean what they mean there."""

import random

import pytest

import espalier as es
from espalier import alta as pb
from espalier.errors import ProgramError

START = 2


def by_function(generate_rules: bool):
    def step(z):
        if z["done"] != 1 and z["done_left"] == 1:
            z["parity"] = z["parity_left"] ^ z["parity"]
            z["done"] = 1

    return pb.program_spec(
        variables={
            "parity": pb.input_var(2, init_fn=lambda x: 0 if x == START else x),
            "done": pb.input_var(2, init_fn=lambda x: x == START),
        },
        heads={
            "parity_left": pb.v_relative("parity", -1),
            "done_left": pb.qkv(pb.RELATIVE_QK, pb.RELATIVE_QK, "done", frozenset({-1})),
        },
        ffn_fn=step,
        output_name="parity",
        input_range=3,
        halt=pb.halt_spec("done"),
        generate_rules=generate_rules,
    )


def by_builder(longest: int):
    variables = {
        "parity": pb.input_var(2),
        "done": pb.position_var(2, init_fn=lambda x: x == 0),
        "idx": pb.position_var(longest),
        "idx_left": pb.position_var(longest, lambda x: max(0, x - 1)),
    }
    heads = {
        "parity_left": pb.qkv("idx_left", "idx", "parity"),
        "done_left": pb.qkv("idx_left", "idx", "done"),
    }
    x = pb.MLPBuilder(variables, heads)
    for done, done_left in x.get("done", "done_left"):
        if done != 1 and done_left == 1:
            x.set("done", 1)
            for left, own in x.get("parity_left", "parity"):
                x.set("parity", left ^ own)
    return pb.program_spec_from_rules(
        variables, heads, x.rules, "parity", 2, longest, pb.halt_spec("done", halt_value=1)
    )


def by_counting(longest: int):
    def step(z):
        z["parity"] = int((round(1 / z["x"]) - 1) % 2 != 0)

    shares = pb.numeric_var(values=tuple(sorted(1 / n for n in range(1, longest + 1))))
    return pb.program_spec(
        variables={
            "parity": pb.var(2),
            "end": pb.numeric_var(input_init_fn=lambda x: float(x == START), values=(0, 1)),
            "counted": pb.set_var(values=[{1}], range=2, default={1}),
            "end_or_one": pb.input_var(2, init_fn=lambda x: x in {1, START}),
        },
        heads={"x": pb.qkv("counted", "end_or_one", "end", output_spec=shares)},
        ffn_fn=step,
        output_name="parity",
        input_range=3,
    )


@pytest.mark.parametrize(
    ("program", "before", "after", "layers"),
    [
        (by_function(True), [START], [], None),
        (by_builder(9), [], [], None),
        (by_counting(12), [], [START], 1),
    ],
)
def test_parity_in_three_ways(program, before, after, layers) -> None:
    source, model = random.Random(0), es.compile_program(program)
    for _ in range(20):
        bits = source.choices((0, 1), k=source.randint(1, 8))
        tokens = [*before, *bits, *after]
        for run in (
            es.interpret(program, tokens, max_layers=layers),
            model.run(tokens, max_layers=layers),
        ):
            assert run.outputs[-1] == sum(bits) % 2


def test_without_rules_a_function_is_interpreted() -> None:
    assert es.interpret(by_function(False), [START, 1, 1]).outputs == [0, 1, 0]


def test_what_differs_is_refused_by_name() -> None:
    x = pb.MLPBuilder({"x": pb.var(2)}, {})
    with pytest.raises(ProgramError, match="outside the range"):
        x.set("x", 2)
    with pytest.raises(ProgramError, match="'x'"):
        x.set("x", None)
    assert pb.var(2, out_of_range="saturate").check_written(7) == 1
