from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import espalier as es
from espalier.errors import ProgramError
from espalier.language import ByInput
from histories import History
from reference import holds, seen_by_rules
from strategies import cases


def parts_by_definition(history):
    """Heads, rules and tokens among what a value used."""
    program = history.program
    for layer, sublayer, name, position in history.sets()[0]:
        if layer == 0:
            by_input = isinstance(program.initial[name], ByInput)
            yield ("token" if by_input else "start", "" if by_input else name, 0, position)
        elif sublayer == "attention" and name in program.heads:
            yield "head", name, layer, position
        elif sublayer == "mlp" and (layer, "attention", name, position) in history.sets()[0]:
            seen = seen_by_rules(program.specs, history.attended[layer][position])
            rests = layer > 1 and program.causal and program.halt is not None and (
                history.updated[layer - 1][position][program.halt.variable] == program.halt.value
            )  # fmt: skip
            for number, rule in enumerate(program.rules):
                if rule.output == name and holds(rule, seen) and not rests:
                    yield "rule", number, layer, position


@given(cases(strict=True) | cases(strict=True, causal=True), st.data())
@settings(max_examples=30)
def test_a_circuit_is_what_the_outputs_of_its_inputs_used(case, data):
    batch = [tokens[:3] for tokens in case.batch[:3]]
    shortest = min(map(len, batch))
    position = data.draw(st.none() | st.integers(0, shortest - 1))
    found = es.circuit(case.program, batch, position=position, max_layers=case.max_layers)
    expected = Counter()
    for tokens in batch:
        places = range(len(tokens)) if position is None else [position]
        histories = [
            History(case.program, tokens, case.max_layers, place, case.program.output_name, None)
            for place in places
        ]
        expected.update({part for history in histories for part in parts_by_definition(history)})
    assert found.components == expected
    assert found.inputs == len(batch)
    assert set(found.places) == {(kind, name, place) for kind, name, _, place in expected}
    assert max(found.components.values()) <= len(batch)
    assert {end for edge in found.edges for end in edge} <= set(found.components)
    assert set(found.to_networkx().nodes) == set(found.components)


def test_what_has_no_circuit_is_refused():
    entry = es.zoo.load("parity-sequential-relative")
    inputs = [entry.encode("101"), entry.encode("1")]
    for arguments, culprit in (
        ({"inputs": []}, "found none"),
        ({"inputs": inputs, "position": 2}, "input 1: position 2 is outside"),
        ({"inputs": inputs, "position": -1}, "input 0: position -1 is negative"),
        ({"inputs": inputs, "variable": "party"}, "did you mean 'parity'"),
    ):
        with pytest.raises(ProgramError, match=culprit):
            es.circuit(entry.program, **arguments)
