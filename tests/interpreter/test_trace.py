import json

import pandas as pd
import pytest
from hypothesis import given

from coding import rounded
from espalier.errors import FileError, ProgramError
from espalier.interpreter import interpret
from espalier.language import numerical_var, program_spec, set_var, show_value, v_relative, var
from parity import START, sequential_absolute, sequential_relative
from reference import run_by_definition, seen_by_rules
from strategies import cases


@given(cases(strict=True))
def test_a_trace_has_the_state_after_every_sublayer(case):
    tokens = case.batch[0]
    trace = interpret(case.program, tokens, max_layers=case.max_layers)
    expected = run_by_definition(case.program, tokens, max_layers=case.max_layers)
    assert trace.tokens == tuple(tokens)
    assert (trace.outputs, trace.layers, trace.halted) == (
        expected.outputs,
        expected.layers,
        expected.halted,
    )
    for layer in range(trace.layers + 1):
        states = [trace.state(layer, position) for position in range(len(tokens))]
        assert states == rounded(expected.updated[layer])
    for layer in range(1, trace.layers + 1):
        states = [trace.state(layer, position, "attention") for position in range(len(tokens))]
        assert states == rounded(expected.attended[layer])


@given(cases(strict=True) | cases(strict=True, causal=True))
def test_every_change_has_a_rule_and_every_rule_a_change(case):
    tokens = case.batch[0]
    trace = interpret(case.program, tokens, max_layers=case.max_layers)
    for layer in range(1, trace.layers + 1):
        for position in range(len(tokens)):
            before = trace.state(layer, position, "attention")
            after = trace.state(layer, position)
            for name in case.program.specs:
                rule = trace.rule(layer, position, name)
                if rule is None:
                    assert after[name] == before[name]
                else:
                    assert rule.output == name
                    assert after[name] == rule.new
                    assert seen_by_rules(case.program.specs, before)[name] == rule.old


def test_the_paper_figure_3():
    trace = interpret(sequential_absolute(3), [1, 0, 1])
    assert trace.outputs == [1, 1, 0]
    assert (trace.layers, trace.halted) == (2, True)
    first = trace.state(1, 1, "attention")
    assert (first["parity_left"], first["done_left"]) == (1, 1)
    assert trace.state(1, 1) == {
        "parity": 1,
        "done": 1,
        "idx": 1,
        "idx_left": 0,
        "parity_left": None,
        "done_left": None,
    }


@pytest.mark.parametrize(
    ("layer", "position", "after"),
    [
        (-1, 0, "mlp"),
        (3, 0, "mlp"),
        (0, 0, "attention"),
        (0, 3, "mlp"),
        (0, -1, "mlp"),
        (1, 0, "m"),
        (1.0, 0, "mlp"),
        (1, 1.0, "mlp"),
    ],
)
def test_a_place_outside_the_trace_is_refused(layer, position, after):
    trace = interpret(sequential_absolute(3), [1, 0, 1])
    with pytest.raises(ProgramError):
        trace.state(layer, position, after)


def test_a_rule_of_an_unknown_variable_is_refused():
    trace = interpret(sequential_absolute(3), [1, 0, 1])
    with pytest.raises(ProgramError, match=r"'pairty'.*'parity'"):
        trace.rule(1, 0, "pairty")


@given(cases(strict=True))
def test_a_table_has_every_value_of_every_sublayer(case):
    tokens = case.batch[0]
    trace = interpret(case.program, tokens, max_layers=case.max_layers)
    frame = trace.to_frame()
    names = len(case.program.specs)
    assert len(frame) == (2 * trace.layers + 1) * len(tokens) * names
    outputs = frame[
        (frame.layer == trace.layers)
        & (frame.sublayer == "mlp")
        & (frame.variable == case.program.output_name)
    ].sort_values("position")
    assert outputs.value.tolist() == [show_value(value) for value in trace.outputs]


@pytest.mark.parametrize(
    ("suffix", "read"),
    [
        (".csv", lambda path: pd.read_csv(path, dtype={"value": str})),
        (".parquet", pd.read_parquet),
        (".json", lambda path: pd.DataFrame(json.loads(path.read_text()))),
    ],
)
def test_a_saved_table_reads_back(tmp_path, suffix, read):
    program = program_spec(
        {
            "x": var(3, input_init_fn=int),
            "mass": numerical_var((0, 0.25), input_init_fn=lambda x: x / 4),
            "bag": set_var([set(), {0, 2}], 3, input_init_fn=lambda x: {0, 2} if x else set()),
        },
        {"left": v_relative("x", -1)},
        rules=[],
        output_name="x",
        input_range=3,
    )
    trace = interpret(program, [0, 1, 2], max_layers=1)
    path = tmp_path / f"trace{suffix}"
    trace.save(path)
    found = read(path)
    assert found.to_numpy().tolist() == trace.to_frame().to_numpy().tolist()
    assert {"∅", "{}", "{0,2}", "0.25", "2"} <= set(found.value)


def test_a_table_of_an_unknown_kind_is_refused(tmp_path):
    trace = interpret(sequential_relative(), [START, 1])
    with pytest.raises(FileError, match="xlsx"):
        trace.save(tmp_path / "trace.xlsx")
    assert list(tmp_path.iterdir()) == []


def test_a_trace_shows_itself():
    trace = interpret(sequential_relative(), [START, 1, 1])
    for name in trace.program.specs:
        assert name in str(trace)
    assert "2 1 1" in str(trace)
    assert "0 1 0" in str(trace)
    assert len(repr(trace).splitlines()) <= 12
