"""The laws of explanations, against definitions that share no code with them."""

import random
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import espalier as es
from espalier.errors import ProgramError
from histories import History, is_same
from strategies import cases


@st.composite
def questions(draw):
    """A trace that runs, and one of its values."""
    case = draw(cases(strict=True) | cases(strict=True, causal=True))
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


@given(questions())
def test_used_and_guards_are_what_their_definition_says(question):
    trace, position, variable, layer = question
    why = trace.explain(position, variable, layer)
    history = history_of(*question)
    assert why.target == history.target
    assert is_same(trace.program, why.target.variable, why.value, history.value(history.target))
    assert (set(why.used), set(why.guards)) == history.sets()


def check_laws(question, nodes=None, most=None):
    """Every single intervention by definition: what changes the value is what matters."""
    why, history = question[0].explain(*question[1:]), history_of(*question)
    name, changing = why.target.variable, {}
    for node in history.all_nodes() if nodes is None else nodes:
        outcomes = {}
        for value in islice(history.other_values(node), most):
            outcome = history.outcome({node: value}, why.max_layers)
            if not is_same(question[0].program, name, why.value, outcome):
                outcomes[value] = outcome
        if outcomes:
            changing[node] = outcomes
    known = why.counterexamples
    assert known.keys() <= why.used | why.guards
    if nodes is None:
        assert changing.keys() == set(why.matters)
    assert changing.keys() <= set(why.matters)
    for node, found in known.items():
        if node in changing and found.value in changing[node]:
            assert is_same(question[0].program, name, found.outcome, changing[node][found.value])
        elif nodes is None:
            raise AssertionError(node, found)


@given(questions())
@settings(max_examples=25)
def test_what_changes_the_value_is_what_matters(question):
    check_laws(question)
