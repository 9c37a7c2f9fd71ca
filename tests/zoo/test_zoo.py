import pytest

import espalier as es
from espalier import zoo
from espalier.generation import ask

ENTRIES = list(zoo.names())


@pytest.mark.parametrize("name", ENTRIES)
def test_every_program_agrees_with_its_weights(name: str) -> None:
    entry = zoo.load(name)
    inputs = entry.samples(20, size=12 if entry.writing is None else 6)
    batch = [answer.read for answer in ask(entry, inputs)]
    found = es.verify(entry.program, batch, max_layers=entry.max_layers)
    assert found.ok, str(found)


@pytest.mark.parametrize("name", ENTRIES)
def test_every_program_answers_as_expected(name: str) -> None:
    entry = zoo.load(name)
    inputs = entry.samples(30, size=30 if entry.writing is None else 8, seed=1)
    expected = [entry.expected(given) for given in inputs]
    symbols = ask(entry, inputs)
    assert [answer.value for answer in symbols] == expected
    assert ask(entry, inputs, model=es.compile_program(entry.program)) == symbols


def test_rule_counts_are_the_papers() -> None:
    assert len(zoo.load("parity-sequential-absolute").program.rules) == 7
    assert len(zoo.load("parity-sequential-relative").program.rules) == 7
    assert len(zoo.load("parity-sum-modulo", buckets=100).program.rules) == 200
    # D.1: a minimal version for up to 20 ones keeps 21 resets and one rule for each odd count.
    small = zoo.load("parity-sum-modulo", buckets=21).program
    assert len(small.rules.resets) == 21
    assert len([rule for rule in small.rules.transitions if rule.new == 1]) == 10


@pytest.mark.parametrize("written", ["101", "1 0 1", [1, 0, 1], (1, 0, 1)])
def test_bits_are_written_in_several_ways(written: object) -> None:
    assert zoo.load("parity-sequential-relative").encode(written) == [2, 1, 0, 1]
    assert zoo.load("parity-sequential-absolute").encode(written) == [1, 0, 1]


def test_what_is_not_there_is_refused_with_the_nearest() -> None:
    with pytest.raises(es.ProgramError, match="did you mean 'parity-sequential-relative'"):
        zoo.load("parity-sequential-relativ")
    with pytest.raises(es.ProgramError, match="does not take these settings"):
        zoo.load("parity-sum-modulo", bucket=3)
    with pytest.raises(es.ProgramError, match="holds '2'"):
        zoo.load("parity-sum-modulo").encode("102")


def test_samples_depend_on_nothing_but_the_seed() -> None:
    entry = zoo.load("parity-sequential-relative")
    assert entry.samples(5, size=9, seed=3) == entry.samples(5, size=9, seed=3)
    assert entry.samples(5, size=9, seed=3) != entry.samples(5, size=9, seed=4)
