import os
import random

import pytest

import espalier as es
from espalier import zoo
from espalier.data import scan as task

needs_data = pytest.mark.skipif(
    "ESPALIER_DATA" not in os.environ, reason="set ESPALIER_DATA to a folder that holds scan/"
)
LONGEST = "jump around left thrice after turn around right thrice"


@pytest.fixture(scope="module")
def entry():
    return zoo.load("scan")


@pytest.fixture(scope="module")
def examples():
    """Every clause alone, and a sample of the conjunctions."""
    everything = list(task.generate_examples())
    single = [example for example in everything if len(example.command.split()) <= 4]
    return single[:102] + random.Random(0).sample(everything, 100)


def test_it_is_smaller_and_shallower_than_the_papers(entry) -> None:
    assert len(entry.program.rules) < 2000
    assert len(entry.program.heads) == 12
    run = es.interpret_many(entry.program, [entry.encode(LONGEST)])[0]
    assert run.layers == 87 <= 512
    assert entry.decode(run.outputs) == task.translate(LONGEST)


def test_both_machines_translate_every_clause_and_many_conjunctions(entry, examples) -> None:
    tokens = [entry.encode(example.command) for example in examples]
    symbols = es.interpret_many(entry.program, tokens)
    weights = es.compile_program(entry.program).run_many(tokens)
    assert [entry.decode(run.outputs) for run in symbols] == [e.actions for e in examples]
    assert weights == symbols


def test_nothing_depends_on_how_much_memory_there_is(entry) -> None:
    roomy = zoo.load("scan", outputs=70)
    for command in ("jump", "walk twice and run", LONGEST):
        few, many = (es.interpret(e.program, e.encode(command)) for e in (entry, roomy))
        assert few.layers == many.layers
        assert entry.decode(few.outputs) == roomy.decode(many.outputs)
    with pytest.raises(es.ProgramError, match="room for 24 actions"):
        zoo.load("scan", outputs=24).encode(LONGEST)


@pytest.mark.parametrize("outputs", ["x", 0, -3, 2.5, None])
def test_there_is_room_for_a_whole_number_of_actions(outputs: object) -> None:
    with pytest.raises(es.ProgramError, match="outputs must be a"):
        zoo.load("scan", outputs=outputs)


def test_no_rule_names_a_position(entry) -> None:
    assert entry.program.position_range is None


@needs_data
@pytest.mark.parametrize(
    "name",
    # The other two divide the examples by the same recipe as mcd1.
    ["length", "mcd1", *(pytest.param(name, marks=pytest.mark.slow) for name in ("mcd2", "mcd3"))],
)
def test_a_minimal_version_from_part_of_the_training_set_solves_the_test_set(entry, name) -> None:
    """Part is enough: 1,500 of the examples to learn from, 300 of those to be judged by."""
    split = es.scan_split(name)
    source = random.Random(0)
    train, test = source.sample(split.train, 1500), source.sample(split.test, 300)
    small = es.minimal(entry.program, [entry.encode(e.command) for e in train])
    assert len(small.rules) < 600
    runs = es.interpret_many(small, [entry.encode(e.command) for e in test])
    assert [entry.decode(run.outputs) for run in runs] == [e.actions for e in test]


def test_a_minimal_version_without_a_word_fails_on_it(entry) -> None:
    """The check above can fail: what was never shown is not there."""
    words = [entry.encode(c) for c in ("jump twice", "run left", "walk and look")]
    small = es.minimal(entry.program, words)
    runs = es.interpret_many(small, [entry.encode("jump thrice")], max_layers=100)
    assert entry.decode(runs[0].outputs) != task.translate("jump thrice")
