import numpy as np
import pytest

from espalier.errors import ProgramError
from espalier.language import (
    Head,
    halt_spec,
    numerical_var,
    program_spec,
    qkv,
    set_var,
    v_relative,
    var,
)
from strategies import Table

VARIABLES = {
    "a": var(3),
    "b": var(3),
    "c": var(4),
    "n": numerical_var((0, 1)),
    "s": set_var([{0}, {2}], 3),
}


def output_of(head: Head, **more: Head):
    program = program_spec(VARIABLES, {"h": head, **more}, rules=[], output_name="a", input_range=1)
    return program.specs["h"]


def test_a_head_is_what_was_asked_for():
    head = qkv("a", "b", "n", [1, -2, 1])
    assert (head.query, head.key, head.value) == ("a", "b", "n")
    assert head.relative_positions == {1, -2}
    assert qkv("a", "b", "n").relative_positions is None


def test_v_relative_matches_everywhere_at_one_offset():
    head = v_relative("a", -3)
    assert (head.query, head.key, head.relative_positions) == (None, None, {-3})


@pytest.mark.parametrize(
    "offsets",
    [
        [2],
        {2},
        (2,),
        2,
        np.int64(2),
        np.array([2]),
        np.array(2),
        [np.int8(2)],
        range(2, 3),
    ],
    ids=repr,
)
def test_offsets_may_be_integers_of_any_kind(offsets):
    head = qkv("a", "b", "c", relative_positions=offsets)
    assert head.relative_positions == {2}
    assert {type(offset) for offset in head.relative_positions} == {int}
    assert v_relative("a", np.int64(2)).relative_positions == {2}


def test_the_output_is_like_the_value_unless_it_is_given():
    assert output_of(v_relative("c", 1)).values == (0, 1, 2, 3)
    assert output_of(v_relative("n", 1)).values == (0.0, 1.0)
    assert output_of(v_relative("c", 1, var(4))).size == 4
    assert output_of(v_relative("c", 1, var(9))).size == 9
    assert output_of(v_relative("n", 1, numerical_var((-1, 0.5, 3)))).values == (-1, 0.5, 3)
    assert output_of(qkv("s", "a", "b", output_spec=var(5))).size == 5


@pytest.mark.parametrize(
    "head", [v_relative("g", 1), qkv("g", "a", "n"), qkv("a", "g", "n"), qkv("a", "b", "g")]
)
def test_a_head_that_reads_the_output_of_a_head_is_refused(head):
    with pytest.raises(ProgramError, match=r"'h'.*'g', the output of a head.*copy it"):
        output_of(head, g=v_relative("a", 0))


def test_the_output_of_a_head_does_not_take_over_the_init_of_its_value():
    program = program_spec(
        {"x": var(3, input_init_fn=Table((2,)))},
        {"h": v_relative("x", 0)},
        rules=[],
        output_name="x",
        input_range=1,
    )
    assert set(program.initial) == {"x"}
    assert program.specs["h"].init.from_input is None


@pytest.mark.parametrize("value", [1, np.int64(1), True], ids=repr)
def test_a_halt_value_is_a_plain_integer(value):
    halt = halt_spec("a", value)
    assert (halt.variable, halt.value, type(halt.value)) == ("a", 1, int)
    assert halt_spec("a", halt_value=2).value == 2


@pytest.mark.parametrize(
    "offsets", [[], (), 1.5, [0.0], "1", ["1"], [None], np.array([1.0]), [[1]], ...], ids=repr
)
def test_offsets_that_are_not_integers_are_refused(offsets):
    with pytest.raises(ProgramError):
        qkv("a", "b", "c", relative_positions=offsets)


@pytest.mark.parametrize("junk", [None, 3, "", ["a"], var(2)], ids=repr)
def test_names_must_be_names(junk):
    makers = [
        lambda: qkv(junk, "a", "a"),
        lambda: qkv("a", junk, "a"),
        lambda: qkv("a", "a", junk),
        lambda: v_relative(junk, 1),
    ]
    for make in makers:
        with pytest.raises(ProgramError):
            output_of(make())


@pytest.mark.parametrize("spec", [3, "var", set_var([{0}]), var(5, input_init_fn=int)], ids=repr)
def test_an_output_must_be_categorical_or_numerical_and_start_as_null(spec):
    with pytest.raises(ProgramError, match="'a'"):
        v_relative("a", 1, output_spec=spec)
    with pytest.raises(ProgramError, match="'c'"):
        qkv("a", "b", "c", output_spec=spec)


def test_heads_say_what_they_do():
    assert str(qkv("a", "b", "c", [-1, 2])) == "c where a = b at -1, +2"
    assert str(v_relative("c", 0)) == "c at +0"
