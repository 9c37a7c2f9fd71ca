"""Questions: both machines agree, values are decoded, and nothing that is typed breaks them."""

import json
import random
import string

import pytest

import espalier as es
from espalier.explorer import Session, answer

TYPED = string.ascii_letters + string.digits + " +-*()[]{}<>=.,;:'\"\\/\n\t\0éø中🙂"
PROGRAMS = ("addition", "histogram", "dyck", "parity-sum-modulo")


@pytest.fixture(scope="module")
def session():
    return Session()


def typed(source):
    return "".join(source.choices(TYPED, k=source.randrange(12)))


@pytest.mark.parametrize(
    "name", [*PROGRAMS, "addition-scratchpad", "sort", "reverse", "induction", "most-frequent"]
)
def test_the_example_of_a_program_is_answered_as_expected(session, name):
    about = answer(session, "program", {"program": name})
    asked = {"program": name, "input": about["example"], "sets": []}
    trace, weights = (answer(session, kind, asked) for kind in ("trace", "weights"))
    assert trace["answer"] == trace["expected"] == weights["answer"]
    assert weights["differences"] == 0
    assert weights["layers"] == trace["layers"]
    if name in es.zoo.names():  # as the pages of programs and the command line count them
        rules = es.zoo.load(name).program.rules
        assert (about["rules"], about["resets"]) == (len(rules), len(rules.resets))
    json.dumps(trace, allow_nan=False)


def test_a_value_that_is_set_sends_both_machines_another_way(session):
    wave = es.zoo.load("addition").program.variables["out"].values.index(7)
    sets = [{"variable": "out", "step": 4, "position": 5, "value": wave}]
    asked = {"program": "addition", "input": "34+56", "sets": sets}
    trace, weights = (answer(session, kind, asked) for kind in ("trace", "weights"))
    assert trace["answer"] == weights["answer"] == "97"
    assert weights["differences"] == 0
    cell = {"step": 4, "variable": "out", "position": 5}
    assert "interventions" in answer(session, "why", {**asked, **cell})["error"]
    why = answer(session, "why", {**asked, **cell, "sets": []})
    assert why["headline"] == "why out = 0 at position 5, after layer 2"


def test_rules_are_found_with_how_often_they_fired(session):
    asked = {"program": "addition", "input": "34+56"}
    found = answer(session, "rules", {**asked, "query": "NOW 10/3"})
    program = es.zoo.load("addition").program
    trace = es.interpret(program, es.zoo.load("addition").encode("34+56"))
    fired = trace.cache.units.rule.tolist()
    assert found["rules"]
    for number, text, times in found["rules"]:
        assert text == program.write_rule(program.rules[number])
        assert times == fired.count(number)
        assert "NOW" in text
    everything = answer(session, "rules", {**asked, "query": ""})
    assert everything["found"] == len(program.rules.transitions)
    assert everything["rules"][0][2] == max(map(fired.count, fired))


def test_the_stream_and_attention_are_those_of_the_weights(session):
    entry = es.zoo.load("histogram")
    asked = {"program": "histogram", "input": "hello"}
    model = es.compile_program(entry.program)
    run = model.run(entry.encode("hello"), cache=True)
    stream = answer(session, "residual", {**asked, "step": 2})
    whole = run.cache.residual(1)
    for column, label in enumerate(stream["codes"]):
        wanted = whole[:, model.labels.index(label)].tolist()
        assert [row[column] for row in stream["rows"]] == pytest.approx(wanted, abs=1e-4)
    assert {"tokens = h", "count = 2", "h in tokens_selects"} <= set(stream["labels"])
    pattern = answer(session, "attention", {**asked, "head": "count_share", "layer": 1})
    assert pattern["symbols"] == pattern["weights"]
    assert sum(pattern["weights"][3]) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("name", PROGRAMS)
def test_whatever_is_typed_is_answered_or_refused_with_a_word(session, name):
    source = random.Random(name)
    entry = es.zoo.load(name)
    for turn in range(200):
        text = typed(source) if turn % 3 else str(entry.sample(source, 4))
        asked = {"program": name, "input": text}
        found = answer(session, "trace", asked)
        assert found.get("error") or "answer" in found
        if "answer" in found and turn % 10 == 0:
            names = list(entry.program.specs)
            cell = {"step": source.randrange(4), "variable": source.choice([*names, "x", 3])}
            answer(session, "why", {**asked, **cell, "position": source.randrange(5)})
            sets = [
                {
                    **cell,
                    "position": source.randrange(9),
                    "value": source.choice([0, 1, None, 99, "a"]),
                }
            ]
            answer(session, "trace", {**asked, "sets": sets})


def test_whatever_is_searched_for_is_answered(session):
    source = random.Random(0)
    for _ in range(200):
        asked = {"program": "addition", "input": "1+1", "query": typed(source)}
        assert answer(session, "rules", asked)["found"] >= 0


@pytest.mark.parametrize(
    "name", ["trace", "why", "rules", "weights", "residual", "attention", "file"]
)
@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"program": "addition", "input": 3},
        {"program": "addition", "input": "x" * 3000},
        {"program": "addition", "input": "1+1", "sets": 3},
        {"program": "addition", "input": "1+1", "sets": [{}]},
    ],
)
def test_a_question_without_sense_is_refused(session, name, asked):
    found = answer(session, name, asked)
    assert isinstance(found.get("error", found.get("found", "")), str | int)


@pytest.mark.parametrize("suffix", [".csv", ".svg", ".html"])
def test_a_trace_becomes_a_file(session, suffix):
    found = answer(
        session, "file", {"view": "trace", "suffix": suffix, "program": "addition", "input": "1+1"}
    )
    assert found["name"] == f"trace{suffix}"
    assert len(found["base64"]) > 100
