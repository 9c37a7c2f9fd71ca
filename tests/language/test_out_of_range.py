import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from espalier import compile_program, interpret
from espalier.errors import ProgramError
from espalier.language import Rule, RuleBuilder, program_spec, var
from espalier.language.records import from_record, to_record

MEANINGS = {"saturate": lambda n, size: min(max(n, 0), size - 1), "wrap": lambda n, size: n % size}


def counter(choice, size, step, *, how="function"):
    """Every position adds `step` to its own token in each layer."""
    variables = {"n": var(size, input_init_fn=int, out_of_range=choice)}
    builder = RuleBuilder(variables)
    for n in builder.get("n"):
        if how == "builder":
            builder.set("n", n + step)
    given = {
        "function": {"ffn_fn": lambda z: z.update(n=z["n"] + step)},
        "builder": {"rules": builder},
        "list": {"rules": [Rule({}, "n", n, n + step) for n in range(size)]},
    }
    return program_spec(variables, **given[how], output_name="n", input_range=size)


@given(st.sampled_from(sorted(MEANINGS)), st.integers(1, 6), st.integers(-8, 8), st.data())
def test_both_machines_clip_or_wrap_alike_however_the_rules_were_written(choice, size, step, data):
    if step == 0:
        return
    tokens = data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=4))
    expected = tokens
    for _ in range(3):
        expected = [MEANINGS[choice](n + step, size) for n in expected]
    programs = [counter(choice, size, step, how=how) for how in ("function", "builder", "list")]
    assert len({frozenset(program.rules) for program in programs}) == 1
    assert interpret(programs[0], tokens, max_layers=3).outputs == expected
    assert compile_program(programs[0]).run(tokens, max_layers=3).outputs == expected


@pytest.mark.parametrize("how", ["function", "builder", "list"])
def test_without_the_choice_a_write_out_of_range_is_refused(how):
    with pytest.raises(ProgramError, match=r"3 is outside the range 0\.\.2"):
        counter("refuse", 3, 1, how=how)


def test_the_choice_is_saved_and_older_records_refuse():
    program = counter("wrap", 3, 1)
    again = from_record(json.loads(json.dumps(to_record(program))))
    assert again == program
    assert again.variables["n"].out_of_range == "wrap"
    assert "wraps" in str(program)
    plain = program_spec({"n": var(3)}, rules=[], output_name="n", input_range=3)
    assert "out_of_range" not in json.dumps(to_record(plain))
