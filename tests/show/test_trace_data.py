import json
from importlib import import_module

import pytest
from hypothesis import given

from espalier.interpreter import Trace, interpret
from espalier.language import numerical_var, program_spec, show_value, var
from espalier.show.trace_data import trace_data
from espalier.show.trace_text import title
from parity import START, sequential_relative
from strategies import cases

MODULE = import_module("espalier.show.trace_data")


def parity_trace(length: int) -> Trace:
    bits = [position * 7 % 3 % 2 for position in range(length - 1)]
    return interpret(sequential_relative(), [START, *bits])


def read_back(trace: Trace) -> dict:
    """What a page finds in its JSON."""
    return json.loads(json.dumps(trace_data(trace)))


def decode(data: dict, numbers: list[int]) -> dict:
    """A step's columns, as a moment holds them."""
    values = [frozenset(x) if isinstance(x, list) else x for x in data["values"]]
    columns = [[values[code] for code in data["columns"][number]] for number in numbers]
    return dict(zip(data["names"], columns, strict=True))


def told_rules(data: dict, step: dict) -> dict[tuple[str, int], str | None]:
    """The rule that the page gives for each change, as page.js finds it."""
    now, before = decode(data, step["now"]), decode(data, step["before"])
    told = {}
    for variable, numbers in step["wrote"].items():
        name = data["names"][int(variable)]
        places = [p for p in range(len(now[name])) if now[name][p] != before[name][p]]
        for position, number in zip(places, numbers, strict=True):
            told[name, position] = data["rules"][number] if number >= 0 else None
    return told


@given(cases(strict=True))
def test_it_holds_every_value_of_the_trace(case):
    trace = interpret(case.program, case.batch[0], max_layers=case.max_layers)
    data = read_back(trace)
    assert data["omitted"] == 0
    assert [step["title"] for step in data["steps"]] == [title(m) for m in trace.moments]
    previous = None
    for step, moment in zip(data["steps"], trace.moments, strict=True):
        assert decode(data, step["now"]) == moment.columns
        if previous is None:
            assert step["before"] is None
        else:
            assert decode(data, step["before"]) == previous.columns
        previous = moment
    shown = [frozenset(x) if isinstance(x, list) else x for x in data["values"]]
    assert [show_value(value) for value in shown] == data["shown"]


@given(cases(strict=True))
def test_every_value_that_the_mlp_changed_names_its_rule(case):
    trace = interpret(case.program, case.batch[0], max_layers=case.max_layers)
    data = read_back(trace)
    assert not data["unexplained"]
    for layer in range(1, trace.layers + 1):
        places = [(n, p) for n in case.program.variables for p in range(len(trace.tokens))]
        rules = {place: trace.rule(layer, place[1], place[0]) for place in places}
        expected = {place: str(rule) for place, rule in rules.items() if rule is not None}
        assert told_rules(data, data["steps"][2 * layer]) == expected
        assert data["steps"][2 * layer - 1]["wrote"] == {}


def test_it_describes_every_head():
    trace = parity_trace(4)
    data = read_back(trace)
    assert {data["names"][int(n)]: head["text"] for n, head in data["heads"].items()} == {
        name: str(head) for name, head in trace.program.heads.items()
    }


def test_a_trace_that_would_be_too_heavy_loses_layers_of_its_middle(monkeypatch):
    trace = parity_trace(30)
    monkeypatch.setattr(MODULE, "STORED_CELLS", 600)
    data = read_back(trace)
    layers = trace.layers + 1 - data["omitted"]
    assert 2 < layers < trace.layers
    by_title = {title(moment): place for place, moment in enumerate(trace.moments)}
    places = [by_title[step["title"]] for step in data["steps"]]
    assert places == sorted(places)
    assert (places[0], places[-1]) == (0, len(trace.moments) - 1)
    assert len(places) == 2 * layers - 1
    for place, step in zip(places[1:], data["steps"][1:], strict=True):
        assert decode(data, step["now"]) == trace.moments[place].columns
        assert decode(data, step["before"]) == trace.moments[place - 1].columns


@pytest.mark.parametrize(("limit", "value"), [("LOOKUPS", 20), ("RULE_CHARACTERS", 40)])
def test_a_full_page_says_that_rules_are_missing(monkeypatch, limit, value):
    trace = parity_trace(30)
    monkeypatch.setattr(MODULE, limit, value)
    data = read_back(trace)
    assert data["unexplained"]
    told = [told_rules(data, step) for step in data["steps"][2::2]]
    assert any(told)
    for layer, rules in enumerate(told, start=1):
        for (name, position), text in rules.items():
            assert text in (None, str(trace.rule(layer, position, name)))


def test_values_shown_alike_are_still_distinguished():
    near = 1 / 3 + 1e-9
    program = program_spec(
        variables={
            "x": numerical_var([0, 1], input_init_fn=lambda token: near if token else 1 / 3),
            "n": var(2),
        },
        rules=[],
        output_name="n",
        input_range=2,
    )
    data = read_back(interpret(program, [0, 1], max_layers=0))
    [first, second] = data["columns"][data["steps"][0]["now"][0]]
    assert first != second
    assert data["shown"][first] == data["shown"][second] == "0.3333"
    assert [data["values"][first], data["values"][second]] == [1 / 3, near]
