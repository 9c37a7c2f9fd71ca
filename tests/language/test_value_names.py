"""Values are written as a program's author writes them, and nothing else changes by that."""

import random
from dataclasses import replace

import pytest

import espalier as es
from dice import Chance
from espalier import zoo
from espalier.errors import ProgramError
from espalier.language import from_record, program_hash, program_spec, to_record
from espalier.language.variables import Categorical, SetValued
from strategies import random_blueprint, random_input

SMALL = ("histogram", "sort", "dyck", "addition", "modular", "parity-scratchpad", "induction")


def traced(name, text):
    entry = zoo.load(name)
    return es.interpret(entry.program, entry.encode(text), max_layers=entry.max_layers)


def test_the_answer_reads_as_people_write_it():
    assert "->  1 1 2 2 1 " in str(traced("histogram", "hello"))
    assert "->  9 0 " in str(traced("addition", "34+56"))
    page = traced("histogram", "hello").to_html()
    assert '"2","3"' not in page.split("<h1>")[1].split("</h1>")[0]
    frame = traced("histogram", "hello").to_frame()
    last = frame[(frame.layer == 1) & (frame.sublayer == "mlp") & (frame.variable == "count")]
    assert last.value.tolist() == ["·", "1", "1", "2", "2", "1"]
    assert last.code.tolist() == ["0", "2", "2", "3", "3", "2"]


def test_scan_answers_in_actions():
    trace = traced("scan", "jump twice")
    assert "->  I_JUMP I_JUMP " in str(trace)
    why = str(trace.explain(0))
    assert "action = I_JUMP" in why
    assert "phase = DECODE" in why


@pytest.mark.parametrize("name", SMALL)
def test_names_distinguish_values_and_survive_a_file(name):
    program = zoo.load(name).program
    again = from_record(to_record(program))
    for variable, spec in program.specs.items():
        written = [program.write(variable, value) for value in spec.values]
        assert written == [again.write(variable, value) for value in spec.values]
        if isinstance(spec, Categorical | SetValued):
            assert len(set(written)) == len(written), variable
        assert program.write(variable, None) == "∅"


def test_names_are_no_part_of_what_a_program_does():
    program = zoo.load("addition").program
    bare = replace(program, value_names={})
    assert program_hash(program) == program_hash(bare)
    assert bare.write("wave", 1) == "1"
    assert program.write("wave_right", 1) == "HERE"  # a head carries the names
    assert program.write("added", frozenset([1, 3])) == "{HERE,PARKED}"  # a set has its key's
    assert "turn = NOW" in program.write_rule(program.rules.of("out")[0])


def test_values_without_names_are_their_own():
    source = random.Random(0)
    for _ in range(20):
        chance = Chance(source)
        program = program_spec(**random_blueprint(chance, strict=True))
        trace = es.interpret(program, random_input(chance, program), max_layers=2)
        for rule in program.rules:
            assert program.write_rule(rule) == str(rule) or program.vocabulary or program.text
        assert str(trace)


@pytest.mark.parametrize(
    ("names", "why"),
    [
        ({"y": ("a", "b")}, "'y'"),
        ({"x": ("a",)}, "needs 2 value names"),
        ({"x": ("a", "")}, "not empty"),
        ({"x": 3}, "collection"),
        (["a"], "maps variables"),
    ],
)
def test_names_that_do_not_fit_are_refused(names, why):
    with pytest.raises(ProgramError, match=why):
        program_spec(
            {"x": es.language.var(2)}, rules=[], output_name="x", input_range=2, value_names=names
        )
