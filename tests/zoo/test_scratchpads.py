"""The two programs that write: right on inputs of any length, in both machines."""

import itertools
import random

import pytest

import espalier as es
from espalier import zoo
from espalier.language import ByPosition
from espalier.programs.generation import ask

ADDITION, PARITY = zoo.load("addition-scratchpad"), zoo.load("parity-scratchpad")
CORNERS = [
    "0+0",
    "5+5",
    "9+1",
    "1+" + "9" * 50,
    "9" * 50 + "+1",
    "9" * 50 + "+" + "9" * 50,
    "7+" + "1" * 50,
    "1" * 50 + "+7",
    "000+0",
    "0" * 20 + "1+2",
]


def pairs(count: int, seed: int, most: int = 50) -> list[str]:
    """Sums of numbers of 1 to `most` digits, all lengths alike."""
    source = random.Random(seed)
    lengths = [(source.randint(1, most), source.randint(1, most)) for _ in range(count)]
    return [
        "+".join("".join(source.choices("0123456789", k=length)) for length in both)
        for both in lengths
    ]


def expected(text: str) -> str:
    first, second = text.split("+")
    return str(int(first) + int(second))


@pytest.mark.parametrize("count", [200, pytest.param(2000, marks=pytest.mark.slow)])
def test_addition_is_right_on_pairs_of_up_to_50_digits(count: int) -> None:
    texts = pairs(count, seed=0) + CORNERS
    answers = ask(ADDITION, texts)
    assert [answer.value for answer in answers] == [expected(text) for text in texts]
    assert all(answer.finished for answer in answers)


def test_the_weights_write_what_the_interpreter_writes() -> None:
    # 2,000 pairs of up to 50 digits go through the weights by `espalier verify`: see docs.
    texts = [*pairs(60, seed=1, most=7), "9" * 9 + "+1", "1+" + "9" * 9, "9999+9999", "0+0"]
    assert ask(ADDITION, texts, model=es.compile_program(ADDITION.program)) == ask(ADDITION, texts)


def test_addition_is_right_on_every_pair_of_short_numbers() -> None:
    texts = [f"{a}+{b}" for a, b in itertools.product(range(0, 120, 7), range(0, 1100, 9))]
    assert [answer.value for answer in ask(ADDITION, texts)] == [expected(t) for t in texts]


def test_digits_are_written_from_the_last_to_the_first_and_then_end() -> None:
    answer = ask(ADDITION, ["999+27"])[0]
    assert [ADDITION.program.vocabulary[token] for token in answer.outputs] == [*"6201", "END"]
    assert answer.value == "1026"


@pytest.mark.parametrize("compiled", [False, True])
def test_parity_writes_the_parity_of_every_prefix(compiled: bool) -> None:
    model = es.compile_program(PARITY.program) if compiled else None
    texts = ["".join(bits) for n in range(1, 9) for bits in itertools.product("01", repeat=n)]
    texts += PARITY.samples(10, size=12 if compiled else 30)
    for text, answer in zip(texts, ask(PARITY, texts, model=model), strict=True):
        ones = itertools.accumulate(map(int, text))
        assert answer.outputs == (*(count % 2 for count in ones), 2)
        assert answer.value == text.count("1") % 2


@pytest.mark.parametrize("entry", [PARITY, ADDITION], ids=lambda entry: entry.name)
def test_nothing_knows_its_position(entry) -> None:
    assert entry.program.position_range is None
    assert entry.program.causal
    assert not any(isinstance(first, ByPosition) for first in entry.program.initial.values())


def test_layers_are_as_documented() -> None:
    assert ask(PARITY, ["1" * 9])[0].layers == tuple(9 + t + 2 for t in range(10))
    for a, b in itertools.product((1, 2, 5, 9), repeat=2):
        layers = ask(ADDITION, ["9" * a + "+" + "8" * b])[0].layers
        assert layers == tuple(max(a + b + t + 3, b + 2 * t + 4) for t in range(len(layers)))
