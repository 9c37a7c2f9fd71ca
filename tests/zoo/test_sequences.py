"""Programs over symbols, against what Python says, in both machines."""

import itertools
from collections import Counter

import pytest

import espalier as es
from espalier import zoo
from espalier.zoo import Entry


def last_successors(word: str) -> str:
    """Walk along the word and keep what followed each letter last."""
    followed, found = {}, []
    for place, letter in enumerate(word):
        if place:
            followed[word[place - 1]] = letter
        found.append(followed.get(letter, "-"))
    return "".join(found)


def commonest(word: str) -> str:
    counts = Counter(sorted(word))
    return max(sorted(counts), key=counts.__getitem__)


# What each answers, by other means than the zoo's own; settings for a small version; layers.
CASES = {
    "sort": (sorted, {"values": 3, "longest": 4}, 2),
    "histogram": (lambda word: [sum(x == y for y in word) for x in word], {"letters": 3}, 1),
    "reverse": (lambda word: "".join(word[::-1]), {"letters": 3}, 2),
    "most-frequent": (lambda word: commonest("".join(word)), {"letters": 3}, 4),
    "induction": (lambda word: last_successors("".join(word)), {"letters": 3}, 3),
}


def check(entry: Entry, name: str, inputs: list) -> None:
    expected, _, layers = CASES[name]
    batch = [entry.encode(given) for given in inputs]
    runs = es.interpret_many(entry.program, batch)
    assert [entry.decode(run.outputs) for run in runs] == [expected(given) for given in inputs]
    assert es.compile_program(entry.program).run_many(batch) == runs
    assert set(runs.layers) == {layers}


@pytest.mark.parametrize("name", CASES)
def test_every_short_input(name: str) -> None:
    entry = zoo.load(name, **{**CASES[name][1], "longest": 5})
    symbols = range(3) if name == "sort" else "abc"
    inputs = [list(word) for n in range(1, 6) for word in itertools.product(symbols, repeat=n)]
    check(entry, name, inputs)


@pytest.mark.parametrize("name", CASES)
def test_random_inputs_of_the_default_size(name: str) -> None:
    entry = zoo.load(name)
    check(entry, name, entry.samples(150, size=40, seed=2))


@pytest.mark.parametrize("name", CASES)
def test_what_is_too_long_or_unknown_is_refused(name: str) -> None:
    entry = zoo.load(name, **{**CASES[name][1], "longest": 4})
    first = "0" if name == "sort" else "a"
    with pytest.raises(es.ProgramError, match="5 tokens; this program takes 1 to 4"):
        entry.encode(first * 5)
    with pytest.raises(es.ProgramError, match="position 1 holds '!'"):
        entry.encode(f"{first}!")
    with pytest.raises(es.ProgramError, match="0 tokens"):
        entry.encode("")
    with pytest.raises(es.ProgramError, match=r"letters is 27|values must be at least 1"):
        zoo.load(name, **({"values": 0} if name == "sort" else {"letters": 27}))


@pytest.mark.parametrize("name", CASES)
def test_what_the_program_does_not_take_has_no_expected_answer(name: str) -> None:
    entry = zoo.load(name, **{**CASES[name][1], "longest": 4})
    for given in ("", [], "!", "0" * 5, None, 5, [["a"]]):
        with pytest.raises(es.ProgramError):
            entry.expected(given)
        with pytest.raises(es.ProgramError):
            entry.encode(given)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("outputs", [[], [0], [0, 99], [0, -1], [0, "x"], None])
def test_what_no_run_answers_is_not_decoded(name: str, outputs: object) -> None:
    with pytest.raises(es.ProgramError, match="output"):
        zoo.load(name, **CASES[name][1]).decode(outputs)


def test_symbols_are_written_in_several_ways() -> None:
    entry = zoo.load("sort", values=12, longest=4)
    assert entry.encode("3 11 2") == entry.encode("3, 11,2") == entry.encode([3, 11, 2])
    assert entry.encode("312") == entry.encode([3, 1, 2])
    assert entry.encode("11") == entry.encode([11])
