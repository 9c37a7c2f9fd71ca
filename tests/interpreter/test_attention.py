import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coding import decode, encode, rounded
from dice import Dice
from espalier.interpreter import Machine, interpret
from espalier.interpreter.attention import attend, head_output
from espalier.language import (
    Program,
    numerical_var,
    program_spec,
    qkv,
    set_var,
    v_relative,
    var,
)
from reference import attend as attend_by_definition
from reference import plain
from strategies import random_blueprint


@st.composite
def programs_with_states(draw):
    """A program, and sequences in states that its rules need not be able to reach."""
    dice = Dice(draw)
    program = program_spec(**random_blueprint(dice, strict=False))

    def anything():
        here = dict.fromkeys(program.heads)
        for name, spec in program.variables.items():
            here[name] = plain(spec, dice.pick(spec.values))
        return here

    lengths = [dice.pick([4, 1, 2, 6, 8]) for _ in range(dice.number(1, 4))]
    return program, [[anything() for _ in range(length)] for length in lengths]


@given(programs_with_states())
def test_every_head_reports_what_the_definition_says(program_and_states):
    program, sequences = program_and_states
    found = decode(program, attend(program, encode(program, sequences)))
    for number, states in enumerate(sequences):
        assert found[number] == rounded(attend_by_definition(program, states))


@given(programs_with_states())
def test_attention_counts_the_layer_and_leaves_its_input_alone(program_and_states):
    program, sequences = program_and_states
    before = encode(program, sequences, layer=4)
    after = attend(program, before)
    assert after.layer == 5
    assert decode(program, before) == {n: rounded(states) for n, states in enumerate(sequences)}
    for name in program.variables:
        assert np.array_equal(after.columns[name], before.columns[name])


def reports(program: Program, tokens: list[int]) -> list[object]:
    """What the head `seen` reports at every position."""
    machine = Machine(program, strict=False)
    middle = machine.attend(machine.start([tokens]))
    return [here["seen"] for here in decode(program, middle)[0]]


def look(head, **more) -> Program:
    variables = {
        "x": var(4, input_init_fn=int),
        "all": var(1),
        "weight": numerical_var((0, 3), input_init_fn=float),
        "evens": set_var([{0, 2}], 4),
        "nothing": set_var([set()], 4),
        "below": set_var([set(range(n)) for n in range(5)], input_init_fn=lambda n: set(range(n))),
        **more,
    }
    return program_spec(variables, {"seen": head}, rules=[], output_name="x", input_range=4)


@pytest.mark.parametrize(
    ("head", "tokens", "seen"),
    [
        # Equal values average to themselves; different ones are undefined.
        (qkv("all", "all", "x"), [2, 2, 2], [2, 2, 2]),
        (qkv("all", "all", "x"), [1, 2, 3], [None] * 3),
        (qkv("all", "all", "x"), [1, 3], [None] * 2),
        (qkv("x", "x", "x"), [1, 2, 1], [1, 2, 1]),
        # The query is at the position that attends, the key at the one that is attended to.
        (qkv("below", "x", "x"), [0, 1, 2], [None, 0, None]),
        (qkv("below", "x", "weight"), [0, 1, 2, 3], [None, 0.0, 0.5, 1.0]),
        (qkv("evens", "x", "weight"), [0, 1, 2, 3], [1.0] * 4),
        (qkv("evens", "x", "x"), [1, 2, 3], [2] * 3),
        (qkv("nothing", "x", "weight"), [0, 1], [None] * 2),
        # A mean of numbers is exact, and 0 is not null.
        (qkv("all", "all", "weight"), [0, 0], [0.0, 0.0]),
        (qkv("all", "all", "weight"), [0, 1, 1], [2 / 3] * 3),
        (qkv("x", "x", "weight", output_spec=numerical_var((5, 9))), [1, 1], [1.0, 1.0]),
        # Relative positions count from the one that asks, to the right.
        (v_relative("x", -1), [1, 2, 3], [None, 1, 2]),
        (v_relative("x", 1), [1, 2, 3], [2, 3, None]),
        (v_relative("x", 0), [1, 2, 3], [1, 2, 3]),
        (v_relative("x", 9), [1, 2, 3], [None] * 3),
        (qkv("all", "all", "weight", [-1, 1]), [1, 2, 3], [2.0, 2.0, 2.0]),
        (qkv("all", "all", "x", [-1, 1]), [1, 2, 3, 2], [2, None, 2, 3]),
        (qkv("x", "x", "weight", [-9, -2, 9]), [1, 2, 1], [None, None, 1.0]),
        (qkv("evens", "x", "x", {-1, 0}), [1, 2, 3, 0], [None, 2, 2, 0]),
    ],
    ids=str,
)
def test_examples_of_heads(head, tokens, seen):
    assert reports(look(head), tokens) == seen


def test_sequences_of_a_batch_do_not_see_each_other():
    program = look(qkv("all", "all", "weight"))
    machine = Machine(program)
    column = head_output(program, "seen", machine.start([[0], [3, 3, 0], [1]]))
    assert column.tolist() == [0.0, 2.0, 2.0, 2.0, 1.0]


def test_a_wide_range_does_not_blur_whether_values_agree():
    size = 20_000
    program = program_spec(
        {"x": var(size, input_init_fn=lambda x: size - 1 - x), "all": var(1)},
        {"seen": qkv("all", "all", "x")},
        rules=[],
        output_name="x",
        input_range=2,
    )
    assert interpret(program, [0] * 300, max_layers=1).state(1, 0, "attention")["seen"] == size - 1
    mixed = interpret(program, [0] * 299 + [1], max_layers=1)
    assert mixed.state(1, 0, "attention")["seen"] is None


def test_large_numbers_have_a_mean_too():
    program = look(
        qkv("evens", "x", "big"),
        big=numerical_var((0, 1e200), input_init_fn=lambda x: 1e200 if x == 2 else 0.0),
    )
    assert reports(program, [2, 2]) == [1e200, 1e200]
