"""Bracket strings against rewriting: take away matched pairs until nothing changes."""

import itertools

import pytest

import espalier as es
from espalier import zoo


def is_member(text: str, depth: int) -> bool:
    heights = list(itertools.accumulate(1 if symbol in "([{<" else -1 for symbol in text))
    if heights and max(heights) > depth:
        return False
    while (shorter := text) and any(pair in text for pair in ("()", "[]", "{}", "<>")):
        for pair in ("()", "[]", "{}", "<>"):
            shorter = shorter.replace(pair, "")
        text = shorter
    return not text


def check(texts: list[str], **settings: int) -> None:
    entry = zoo.load("dyck", **settings)
    batch = [entry.encode(text) for text in texts]
    runs = es.interpret_many(entry.program, batch)
    expected = [is_member(text, settings.get("depth", 8)) for text in texts]
    assert [entry.decode(run.outputs) for run in runs] == expected
    assert [entry.expected(text) for text in texts] == expected
    assert es.compile_program(entry.program).run_many(batch) == runs
    assert runs.layers == [max(1, len(text)) for text in texts]
    assert {True, False} == set(expected)


def test_every_string_of_up_to_six_brackets() -> None:
    texts = ["".join(t) for n in range(7) for t in itertools.product("()[]", repeat=n)]
    check(texts, kinds=2, depth=2)


@pytest.mark.parametrize(("kinds", "depth"), [(1, 1), (1, 5), (2, 8), (4, 3)])
def test_random_strings(kinds: int, depth: int) -> None:
    entry = zoo.load("dyck", kinds=kinds, depth=depth + 1)
    check(entry.samples(150, size=60, seed=kinds), kinds=kinds, depth=depth)


def test_rules_grow_with_the_levels_and_not_with_the_stacks() -> None:
    counts = [len(zoo.load("dyck", kinds=4, depth=depth).program.rules) for depth in (4, 8, 16)]
    # Stacks of four kinds number 4 ** depth; copying levels takes depth ** 2 rules.
    assert counts[1] < 3 * counts[0]
    assert counts[2] < 4 * counts[1]


def test_what_is_no_bracket_is_refused() -> None:
    with pytest.raises(es.ProgramError, match=r"place 1 holds '\{'; the brackets are \(\)\[\]"):
        zoo.load("dyck").encode("({")
    for given in (None, 5, [1, 2], ["(", None], b"()"):
        for read in (zoo.load("dyck").encode, zoo.load("dyck").expected):
            with pytest.raises(es.ProgramError, match="brackets"):
                read(given)
    assert zoo.load("dyck").encode(["(", " )"]) == zoo.load("dyck").encode("()")
    with pytest.raises(es.ProgramError, match="kinds is 5"):
        zoo.load("dyck", kinds=5)
