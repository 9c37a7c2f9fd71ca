import re
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from espalier.errors import ProgramError, UndefinedError
from espalier.interpreter import Machine, interpret
from espalier.language import (
    Rule,
    halt_spec,
    numerical_var,
    program_spec,
    qkv,
    set_var,
    v_relative,
    var,
)
from meaning import assert_means_the_same
from reference import UndefinedReadError, run_by_definition
from strategies import CLOCK, Case, cases


@given(cases())
def test_a_lenient_machine_is_the_definition_whatever_is_undefined(case):
    assert_means_the_same(case, strict=False)


@given(cases(strict=True))
def test_a_strict_machine_is_the_definition_where_every_read_is_defined(case):
    assert_means_the_same(case, strict=True)


@given(cases())
def test_merged_rules_are_run_the_same(case):
    merged = Case(case.program.merged(), case.batch, case.max_layers)
    assert len(merged.program.rules) <= len(case.program.rules)
    machine, other = (Machine(c.program, strict=False) for c in (case, merged))
    runs = [m.run(m.start(case.batch), max_layers=case.max_layers) for m in (machine, other)]
    assert runs[0] == runs[1]
    assert_means_the_same(merged, strict=False)


@given(cases(strict=False))
def test_a_strict_machine_raises_exactly_where_a_rule_reads_an_undefined_variable(case):
    for tokens in case.batch:
        try:
            run_by_definition(case.program, tokens, max_layers=case.max_layers)
        except UndefinedReadError as error:
            expected = error
        else:
            interpret(case.program, tokens, max_layers=case.max_layers)
            continue
        with pytest.raises(UndefinedError) as caught:
            interpret(case.program, tokens, max_layers=case.max_layers)
        found = re.match(r"layer (\d+), input 0, position (\d+): .*? '(\w+)'", str(caught.value))
        assert int(found[1]) == expected.layer
        assert (int(found[2]), found[3]) in expected.places


@given(cases())
def test_a_machine_can_be_used_again(case):
    machine = Machine(case.program, strict=False)
    first = machine.start(case.batch)
    once = machine.run(first, max_layers=case.max_layers)
    assert machine.run(first, max_layers=case.max_layers) == once


@pytest.mark.parametrize("layers", [0, 1, 2, 7])
def test_max_layers_is_exactly_that_many_layers(layers):
    program = program_spec(
        {"count": var(10)},
        rules=[Rule({}, "count", n, n + 1) for n in range(9)],
        output_name="count",
        input_range=1,
    )
    trace = interpret(program, [0, 0], max_layers=layers)
    assert (trace.layers, trace.outputs, trace.halted) == (layers, [layers] * 2, False)


def clock(ticks: int):
    """Counts from the token up to `ticks`, and halts there."""
    return program_spec(
        {CLOCK: var(ticks + 1, input_init_fn=int)},
        rules=[Rule({}, CLOCK, now, now + 1) for now in range(ticks)],
        output_name=CLOCK,
        input_range=ticks + 1,
        halt_spec=halt_spec(CLOCK, ticks),
    )


def test_a_sequence_halts_after_a_layer_and_not_before_the_first():
    assert interpret(clock(3), [3, 3]).layers == 1


def test_a_sequence_halts_when_all_its_positions_have_the_halt_value():
    assert interpret(clock(9), [8, 2, 5]).layers == 7


def test_halting_comes_before_max_layers():
    trace = interpret(clock(9), [5], max_layers=6)
    assert (trace.layers, trace.halted) == (4, True)
    trace = interpret(clock(9), [5], max_layers=4)
    assert (trace.layers, trace.halted) == (4, True)
    trace = interpret(clock(9), [5], max_layers=3)
    assert (trace.layers, trace.halted) == (3, False)


def test_a_run_may_take_thousands_of_layers():
    assert interpret(clock(2500), [0]).layers == 2500


@pytest.mark.parametrize("period", [1, 2, 3, 50])
def test_a_program_that_never_halts_is_refused(period):
    program = program_spec(
        {"turn": var(period + 1), "out": var(2, input_init_fn=int)},
        rules=[Rule({}, "turn", n, (n + 1) % period) for n in range(period) if period > 1],
        output_name="out",
        input_range=2,
        halt_spec=halt_spec("out", 1),
    )
    with pytest.raises(ProgramError, match="never halts") as caught:
        interpret(program, [1, 0, 1])
    assert "'out'" in str(caught.value)
    assert "position 1" in str(caught.value)
    assert interpret(program, [1, 1]).layers == 1
    assert interpret(program, [1, 0, 1], max_layers=5000).layers == 5000


@pytest.mark.parametrize(
    ("tokens", "seen"),
    [([0, 0, 0], 0.0), ([0, 1, 2], 1.0), ([1, 2, 2], 1.0), ([1, 3], 1.0), ([2, 2, 3], 3.0)],
)
def test_a_mean_between_buckets_counts_as_the_nearest_and_a_tie_as_the_lower(tokens, seen):
    buckets = (0.0, 1.0, 2.0, 3.0)
    program = program_spec(
        {
            "all": var(1),
            "x": numerical_var((0, 1, 2, 3), input_init_fn=float),
            "copy": numerical_var((0, 1, 3)),
            "out": var(4),
        },
        {"mean": qkv("all", "all", "x", output_spec=numerical_var((0, 1, 3)))},
        ffn_fn=lambda z: z.update(copy=z["mean"], out=buckets.index(z["mean"])),
        output_name="out",
        input_range=4,
    )
    trace = interpret(program, tokens, max_layers=1)
    assert trace.outputs == [buckets.index(seen)] * len(tokens)
    assert trace.state(1, 0, "attention")["mean"] == pytest.approx(sum(tokens) / len(tokens))
    assert trace.state(1, 0)["mean"] is None
    assert trace.state(1, 0)["copy"] == seen


BUCKETS = (1, 3, 4, 7)  # tenths, which no float is exactly


def nearest_tenth(head):
    """The code of the bucket nearest to the mean of the tokens, in tenths."""
    tenths = tuple(bucket / 10 for bucket in BUCKETS)
    head = replace(head, output_spec=numerical_var(tenths))
    return program_spec(
        {
            "all": var(1),
            "set": set_var([{0}]),
            "x": numerical_var((0, 1), input_init_fn=lambda token: token / 10),
            "out": var(4),
        },
        {"mean": head},
        ffn_fn=lambda z: z.update(out=tenths.index(z["mean"])),
        output_name="out",
        input_range=8,
    )


@pytest.mark.parametrize(
    "program",
    [
        nearest_tenth(qkv("all", "all", "x")),
        nearest_tenth(qkv("set", "all", "x")),
        nearest_tenth(qkv("all", "all", "x", range(-9, 10))),
    ],
    ids=["by key", "by set", "by offset"],
)
@given(st.lists(st.integers(0, 7), min_size=1, max_size=9))
def test_rounding_never_decides_a_tie(program, tokens):
    mean = Fraction(sum(tokens), len(tokens))
    nearest = min(range(4), key=lambda code: (abs(BUCKETS[code] - mean), code))
    trace = interpret(program, tokens, max_layers=1)
    assert trace.outputs == [nearest] * len(tokens)


def test_a_rule_may_read_any_number_of_variables():
    names = [f"flag{number}" for number in range(64)]
    program = program_spec(
        {"out": var(2)} | {name: var(2, input_init_fn=int) for name in names},
        ffn_fn=lambda z: z.update(out=int(all(z[name] for name in names))),
        output_name="out",
        input_range=2,
    )
    assert interpret(program, [0, 1], max_layers=1).outputs == [0, 1]


def test_a_rule_may_read_many_heads():
    heads = {f"h{offset}": v_relative("x", -offset) for offset in range(12)}
    program = program_spec(
        {"x": var(2, input_init_fn=int), "out": var(2)},
        heads,
        rules=[Rule(dict.fromkeys(heads, 1), "out", 0, 1)],
        output_name="out",
        input_range=2,
    )
    machine = Machine(program, strict=False)
    outputs = machine.run(machine.start([[1] * 13]), max_layers=1)[0].outputs
    assert outputs == [0] * 11 + [1, 1]
