import pytest

import espalier as es
from espalier import zoo
from espalier.programs.generation import ask

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


@pytest.mark.parametrize("name", [name for name in ENTRIES if name.startswith("parity")])
@pytest.mark.parametrize("given", [None, 5, b"101", [1, "x"], [True], "1.0"])
def test_what_is_no_bits_is_refused(name: str, given: object) -> None:
    entry = zoo.load(name)
    for read in (entry.encode, entry.expected):
        with pytest.raises(es.ProgramError, match="bits"):
            read(given)


def test_more_ones_than_can_be_counted_are_refused() -> None:
    entry = zoo.load("parity-sum-modulo", buckets=6)
    texts = ["1" * ones + "0" * 9 for ones in range(6)]
    assert [answer.value for answer in ask(entry, texts)] == [0, 1, 0, 1, 0, 1]
    with pytest.raises(es.ProgramError, match=r"up to 5 ones; found 6; load\(.*, buckets=7\)"):
        entry.encode("1101111")
    longer = entry.samples(20, size=40)
    assert [answer.value for answer in ask(entry, longer)] == list(map(entry.expected, longer))
    assert max(text.count("1") for text in longer) == 5
    with pytest.raises(es.ProgramError, match="buckets must be"):
        zoo.load("parity-sum-modulo", buckets="x")


@pytest.mark.parametrize("name", ["dyck", "modular", "parity-sum-modulo"])
@pytest.mark.parametrize("outputs", [[], None, ["x"]])
def test_an_answer_needs_a_last_output(name: str, outputs: object) -> None:
    with pytest.raises(es.ProgramError, match=r"the (last )?output"):
        zoo.load(name).decode(outputs)


@pytest.mark.parametrize(
    ("count", "settings", "message"),
    [
        ("x", {"size": 3}, "count must be an integer"),
        (0, {"size": 3}, "count must be at least 1"),
        (1, {"size": None}, "size must be an integer"),
        (1, {"size": 0}, "size must be at least 1"),
        (1, {"size": 3, "seed": [1]}, "seed must be an integer"),
    ],
)
def test_samples_that_cannot_be_drawn_are_refused(count, settings, message: str) -> None:
    with pytest.raises(es.ProgramError, match=message):
        zoo.load("modular").samples(count, **settings)


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
