"""The laws of explanations, against definitions that share no code with them."""

import os
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import espalier as es
from dice import Chance
from espalier.errors import ProgramError
from espalier.interpreter.explain.changes import distinct
from espalier.interventions import Set
from espalier.language import Numerical, halt_spec, program_spec, qkv, v_relative, var
from histories import History, is_same
from strategies import CLOCK, cases, random_blueprint, random_input

DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
# An input of each program of the zoo that is short enough to be run by definition many times.
ZOO = {
    "addition": "34+56",
    "dyck": "([])",
    "histogram": "abba",
    "induction": "abcab",
    "modular": "3+4",
    "most-frequent": "abbc",
    "parity-sequential-absolute": "1011",
    "parity-sequential-relative": "1011",
    "parity-sum-modulo": "1011",
    "scan": "jump twice",
    "parity-scratchpad": "101",
    "addition-scratchpad": "12+9",
    "reverse": "abc",
    "sort": [2, 0, 1],
    "subleq": None,
}
MANY_RULES = ("scan", "subleq")  # slow by definition


@st.composite
def questions(draw, causal=None):
    """A trace that runs, and one of its values: position, variable, layer."""
    case = draw(cases(strict=True, causal=causal))
    tokens = case.batch[0][:4]
    trace = es.interpret(case.program, tokens, max_layers=case.max_layers)
    position = draw(st.integers(0, len(tokens) - 1))
    variable = draw(st.sampled_from([None, *case.program.specs]))
    layer = draw(st.none() | st.integers(0, trace.layers))
    if variable in case.program.heads and (trace.layers if layer is None else layer) == 0:
        variable = None
    return trace, position, variable, layer


def history_of(trace, position, variable, layer):
    name = variable or trace.program.output_name
    stopped = None if trace.halted else trace.layers
    return History(trace.program, trace.tokens, stopped, position, name, layer)


def check_sets(question):
    why, history = question[0].explain(*question[1:]), history_of(*question)
    assert why.target == history.target
    assert is_same(why.trace.program, why.target.variable, why.value, history.value(why.target))
    assert (set(why.used), set(why.guards)) == history.sets()


def check_laws(question):
    """Every single intervention by definition: what changes the value is what matters."""
    why, history = question[0].explain(*question[1:]), history_of(*question)
    changing = {
        node: outcomes
        for node in history.all_nodes()
        if (outcomes := changed_outcomes(why, history, node, history.other_values(node)))
    }
    assert set(changing) == set(why.matters) <= why.used | why.guards
    for node, found in why.counterexamples.items():
        outcome = changing[node][found.value]
        assert is_same(why.trace.program, why.target.variable, found.outcome, outcome)


def changed_outcomes(why, history, node, values):
    outcomes = {value: history.outcome({node: value}, why.max_layers) for value in values}
    name = why.target.variable
    return {
        value: outcome
        for value, outcome in outcomes.items()
        if not is_same(why.trace.program, name, why.value, outcome)
    }


@given(questions())
@settings(max_examples=300 if DEEP else 60)
def test_used_and_guards_are_what_their_definition_says(question):
    check_sets(question)


@given(questions() | questions(causal=True))
@settings(max_examples=300 if DEEP else 20)
def test_what_changes_the_value_is_what_matters(question):
    check_laws(question)


@pytest.mark.parametrize("seed", range(300 if DEEP else 15))
def test_the_laws_hold_on_full_random_programs(seed):
    dice = Chance(random.Random(seed))
    program = program_spec(**random_blueprint(dice, strict=True))
    tokens = random_input(dice, program, longest=3)
    surely_halts = program.halt is not None and program.halt.variable == CLOCK
    trace = es.interpret(program, tokens, max_layers=None if surely_halts else 3)
    question = trace, dice.number(0, len(tokens) - 1), None, None
    check_sets(question)
    check_laws(question)


def test_a_position_that_no_longer_rests_is_asked_again():
    def step(z):
        if z["t"] == 1:
            z["done"] = 1
        if z["t"] == 0:
            z["t"] = 1
        if z["same"] == 1:
            z["y"] = 1 - z["y"]

    program = program_spec(
        variables={
            "x": var(2, input_init_fn=lambda token: token),
            "t": var(2, input_init_fn=lambda token: token),
            "y": var(2),
            "done": var(2),
        },
        heads={"same": qkv("x", "x", "x")},
        ffn_fn=step,
        output_name="y",
        input_range=2,
        halt_spec=halt_spec("done"),
        causal=True,
    )
    trace = es.interpret(program, [1, 0, 1, 0])
    for position in range(4):
        check_laws((trace, position, None, None))


def zoo_trace(name):
    entry = es.zoo.load(name, **({"outputs": 3} if name == "scan" else {}))
    source = random.Random(1)
    text = entry.sample(source, 1) if ZOO[name] is None else ZOO[name]
    return es.interpret(entry.program, entry.encode(text), max_layers=entry.max_layers)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) if name in MANY_RULES else name for name in ZOO],
)
def test_the_laws_hold_on_the_zoo(name):
    """Interventions drawn at random, outside and inside: none changes the value unless it matters.

    And every counterexample is one, or of many some.
    """
    trace, source = zoo_trace(name), random.Random(name)
    position = source.randrange(len(trace.tokens))
    why, history = trace.explain(position), history_of(trace, position, None, None)
    nodes, few = list(history.all_nodes()), 5
    for node in source.sample(nodes, min(len(nodes), 60 if DEEP else few)):
        value = source.choice([*history.other_values(node), history.value(node)])
        changes = changed_outcomes(why, history, node, [value])
        assert not changes or node in why.matters
    matters = sorted(why.counterexamples)
    assert set(matters) <= why.used | why.guards
    for node in source.sample(matters, min(len(matters), 30 if DEEP else few)):
        found = why.counterexamples[node]
        changes = changed_outcomes(why, history, node, [found.value])
        assert list(changes.values()) == [found.outcome]


@pytest.mark.slow
@pytest.mark.parametrize("name", ZOO)
def test_thousands_of_interventions_on_the_zoo(name):
    """Run by the interpreter under `Set`: what changes the output matters, as its example says."""
    entry, source = es.zoo.load(name), random.Random(name)
    text = entry.sample(source, 5) if ZOO[name] is None else ZOO[name]
    trace = es.interpret(entry.program, entry.encode(text), max_layers=entry.max_layers)
    position = source.randrange(len(trace.tokens))
    why, history = trace.explain(position), history_of(trace, position, None, None)
    nodes = list(history.all_nodes())
    chosen = [source.choice(nodes) for _ in range(3000)]
    pairs = [(n, source.choice(v)) for n in chosen if (v := history.other_values(n))]
    known = source.sample(sorted(why.counterexamples), min(1000, len(why.counterexamples)))
    pairs += [(node, why.counterexamples[node].value) for node in known]
    changes = [[Set(n[2], layer=n[0], position=n[3], value=v, sublayer=n[1])] for n, v in pairs]
    runs = es.interpret_many(
        entry.program, [trace.tokens] * len(pairs), max_layers=why.max_layers, interventions=changes
    )
    for (node, value), run in zip(pairs, runs, strict=True):
        assert run.outputs[position] == why.value or node in why.matters
        found = why.counterexamples.get(node)
        if found is not None and found.value == value:
            assert run.outputs[position] == found.outcome


@given(questions(), st.randoms(use_true_random=False))
@settings(max_examples=100 if DEEP else 30)
def test_what_interacts_is_what_does_not_add_up(question, source):
    why, history = question[0].explain(*question[1:]), history_of(*question)
    nodes = sorted(why.used | why.guards)
    if len(nodes) < 2 or isinstance(why.trace.program.specs[why.target.variable], Numerical):
        return
    one, other = source.sample(nodes, 2)

    def outcome(sets):
        return history.outcome(sets, why.max_layers)

    found = set()
    for a in history.other_values(one):
        for b in history.other_values(other):
            alone = outcome({one: a}), outcome({other: b})
            both = outcome({one: a, other: b})
            # Sums of one-hot vectors are equal if they have the same summands, null aside.
            if sorted(map(repr, alone)) != sorted(map(repr, (both, why.value))):
                found.add((a, b, *alone, both))
    interaction = why.interacts(one, other)
    assert (interaction is not None) == bool(found)
    if interaction is not None:
        assert tuple(vars(interaction).values()) in found


def test_counterexamples_can_be_run():
    entry = es.zoo.load("addition")
    trace = es.interpret(entry.program, entry.encode("17+25"))
    why = trace.explain(5)
    for node, found in list(why.counterexamples.items())[::20]:
        change = Set(node.variable, layer=node.layer, position=node.position, value=found.value,
                     sublayer=node.sublayer)  # fmt: skip
        run = es.interpret(
            entry.program, trace.tokens, interventions=[change], max_layers=why.max_layers
        )
        assert run.outputs[5] == found.outcome


def test_a_history_is_a_graph():
    entry = es.zoo.load("addition")
    why = es.interpret(entry.program, entry.encode("34+56")).explain(4)
    graph = why.to_networkx()
    assert set(graph.nodes) == set(why.used)
    assert {node for node in graph if not graph.in_degree(node)} == {
        node for node in why.used if node.layer == 0
    }
    assert [node for node in graph if not graph.out_degree(node)] == [why.target]
    assert why.tokens == {1, 2, 3, 4, 5, 6}
    rules = {edge.rule for edge in why.edges if edge.kind == "read"}
    assert all(entry.program.rules[rule].output in {n.variable for n in why.used} for rule in rules)
    frame = why.to_frame()
    assert len(frame) == len(why.used | why.guards)
    assert frame.matters.sum() == len(why.matters)


def test_what_cannot_be_explained_is_refused():
    entry = es.zoo.load("parity-sequential-relative")
    trace = es.interpret(entry.program, entry.encode("101"))
    for arguments, culprit in (
        ({"position": -1}, "position -1 is negative; .* the last of this trace is 3"),
        ({"position": 4}, "position 4 is outside"),
        ({"position": 1.5}, "must be an integer"),
        ({"position": 1, "variable": "party"}, "'party'; did you mean 'parity'"),
        ({"position": 1, "layer": 9}, "layer 9"),
        ({"position": 1, "layer": -1}, "layer -1"),
        ({"position": 1, "variable": "parity_left", "layer": 0}, "layer 0 after 'attention'"),
    ):
        with pytest.raises(ProgramError, match=culprit):
            trace.explain(**arguments)
    why = trace.explain(3)
    for node, culprit in (
        ((1, "mlp", "parity_left", 1), "say 'attention'"),
        ((1, "mlp", "party", 1), "did you mean"),
        ((9, "mlp", "parity", 1), "layer 9"),
        ("parity", "a node is"),
        ((4, "mlp", "parity", 1), "layer 4"),
        ((0, "mlp", "parity", 0), "given twice"),
    ):
        with pytest.raises(ProgramError, match=culprit):
            why.interacts((0, "mlp", "parity", 0), node)
    change = Set("parity", layer=1, position=2, value=0)
    changed = es.interpret(entry.program, trace.tokens, interventions=[change])
    with pytest.raises(ProgramError, match=r"under interventions \(the first of 1 is parity = 0 "):
        changed.explain(1)
    early = trace.explain(3, layer=1)
    with pytest.raises(ProgramError, match="comes after the value that is explained"):
        early.interacts((0, "mlp", "parity", 0), (2, "mlp", "parity", 1))


def test_what_does_not_fit_waits_for_another_sweep(monkeypatch):
    trace = zoo_trace("addition")
    whole = trace.explain(4).counterexamples
    monkeypatch.setattr("espalier.interpreter.explain.sweep.CELLS", 3000)
    assert trace.explain(4).counterexamples == whole


def test_states_with_one_hash_are_distinguished():
    columns = [np.asarray([3, 3, 5, 3, 5]), np.asarray([0.5, np.nan, 0.5, 0.5, 0.5])]
    for key in ([7, 7, 7, 7, 7], [1, 2, 3, 1, 3]):
        kept, stands = distinct(np.asarray(key), columns)
        assert kept[0] == 0
        for column in columns:
            assert np.array_equal(column[kept][stands], column, equal_nan=True)


def test_programs_that_are_run_from_their_function_are_explained_by_rules():
    blueprint = {
        "variables": {"x": var(3, input_init_fn=lambda token: token), "done": var(2)},
        "heads": {"left": v_relative("x", -1)},
        "output_name": "x",
        "input_range": 3,
        "halt_spec": halt_spec("done"),
    }

    def step(z):
        z["done"] = 1
        if z["x"] == 1:
            z["x"] = z["left"]

    plain = program_spec(**blueprint, ffn_fn=step)
    lazy = program_spec(**blueprint, ffn_fn=step, rules="lazy")
    one, other = (es.interpret(program, [0, 2, 1]).explain(2) for program in (plain, lazy))
    assert (one.value, one.used, one.guards) == (2, other.used, other.guards)
    assert one.counterexamples == other.counterexamples
