"""Modular arithmetic against Python's own."""

import itertools

import pytest

import espalier as es
from espalier import zoo


def check(modulus: int, texts: list[str]) -> None:
    entry = zoo.load("modular", modulus=modulus)
    batch = [entry.encode(text) for text in texts]
    runs = es.interpret_many(entry.program, batch)
    expected = [eval(text) % modulus for text in texts]
    assert [entry.decode(run.outputs) for run in runs] == expected
    assert [entry.expected(text) for text in texts] == expected
    assert es.compile_program(entry.program).run_many(batch) == runs
    assert runs.layers == [len(text) + 1 for text in texts]


def test_every_expression_of_up_to_three_numbers() -> None:
    numbers, operations = "0123", "+-*"
    texts = [*numbers, *map("".join, itertools.product(numbers, operations, numbers))]
    texts += map("".join, itertools.product(numbers, operations, numbers, operations, numbers))
    check(4, texts)


@pytest.mark.parametrize("modulus", [2, 7, 10])
def test_random_expressions(modulus: int) -> None:
    check(modulus, zoo.load("modular", modulus=modulus).samples(120, size=60, seed=modulus))


@pytest.mark.parametrize("text", ["", "3+", "+3", "3++4", "12", "3/4", "9", 7])
def test_what_is_no_expression_is_refused(text: object) -> None:
    with pytest.raises(es.ProgramError, match="digits from 0 to 6"):
        zoo.load("modular", modulus=7).encode(text)
    with pytest.raises(es.ProgramError, match="2 to 10"):
        zoo.load("modular", modulus=11)
