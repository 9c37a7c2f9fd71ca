"""Operators make expressions, never answers about expressions; None goes through them."""

import operator
from fractions import Fraction

import pytest

import espalier as es
from espalier import rasp
from espalier.rasp import indices, length, select, tokens


def both(expression: rasp.Expression, word: object, vocabulary: object, **settings: bool) -> list:
    """The value on symbols, which is that of the weights and of plain evaluation."""
    found = rasp.translate(expression, vocabulary=vocabulary, longest=6, **settings)
    trace = es.interpret(found.program, found.encode(word))
    assert es.compile_program(found.program).run(found.encode(word)).outputs == trace.outputs
    assert found.decode(trace.outputs) == rasp.evaluate(expression, word, **settings)
    return found.decode(trace.outputs)


BINARY = ["eq", "ne", "lt", "le", "gt", "ge", "add", "sub", "mul", "truediv", "floordiv", "mod"]


@pytest.mark.parametrize("name", [*BINARY, "pow"])
def test_an_operator_is_pythons_at_each_position(name: str) -> None:
    function, word = getattr(operator, name), [3, 1, 2, 2]
    assert both(function(tokens, 2), word, [1, 2, 3]) == [function(x, 2) for x in word]
    assert both(function(2, tokens), word, [1, 2, 3]) == [function(2, x) for x in word]
    expected = [function(x, i + 1) for i, x in enumerate(word)]
    assert both(function(tokens, indices + 1), word, [1, 2, 3]) == expected


def test_logic_is_pythons_and_or_not() -> None:
    word = [0, 1, 2]
    assert both(tokens & (tokens > 1), word, word) == [0, False, True]
    assert both(tokens | "none", word, word) == ["none", 1, 2]
    assert both(0 | tokens, word, word) == [0, 1, 2]
    assert both(5 & tokens, word, word) == [0, 1, 2]
    assert both(~tokens, word, word) == [True, False, False]
    assert both(-tokens + abs(-tokens) * +tokens, word, word) == [0, 0, 2]
    assert both(tokens == "a", "ab", "ab") == [True, False]


def test_a_comparison_is_an_expression_and_not_a_truth_value() -> None:
    for wrong in (
        lambda: bool(tokens == "a"),
        lambda: (tokens == "a") and (indices == 0),
        lambda: not tokens,
        lambda: 0 < indices < 3,
        lambda: tokens in [length, indices],
        lambda: 1 if tokens else 0,
    ):
        with pytest.raises(es.ProgramError, match="no truth value of its own; write x & y"):
            wrong()


def test_expressions_are_keys_by_identity() -> None:
    many = [indices + step for step in range(1000)]
    assert len({*many, *many}) == 1000
    table = {node: place for place, node in enumerate(many)}
    assert [table[node] for node in many] == list(range(1000))


def test_selectors_and_expressions_do_not_mix() -> None:
    with pytest.raises(es.ProgramError, match="cannot be combined"):
        tokens & rasp.select_all()
    with pytest.raises(es.ProgramError, match="a selector is needed"):
        rasp.select_all() & tokens


def test_none_goes_through_and_functions_never_see_it() -> None:
    before = rasp.shift(tokens, 1)
    assert both(before == "a", "aab", "ab") == [None, True, True]
    assert both(before != "a", "aab", "ab") == [None, False, False]
    assert both(~(before == "a") | (tokens == "b"), "aab", "ab") == [None, False, True]
    assert both(rasp.elementwise(str.upper, before), "aab", "ab") == [None, "A", "A"]
    assert both(rasp.elementwise(str.__add__, before, tokens), "aab", "ab") == [None, "aa", "ab"]
    assert both(tokens == None, "ab", "ab") == [False, False]  # noqa: E711


def test_none_neither_selects_nor_is_selected() -> None:
    before = rasp.shift(tokens, 1)
    for predicate, widths in [
        (operator.eq, [1, 1, 0]),
        (operator.ne, [1, 1, 2]),
        (operator.lt, [0, 1, 2]),
        (lambda key, query: True, [2, 2, 2]),
    ]:
        assert both(rasp.selector_width(select(before, tokens, predicate)), "abc", "abc") == widths
        query = rasp.selector_width(select(tokens, before, predicate))
        assert both(query, "abc", "abc")[0] == 0
        assert both(rasp.selector_width(~select(tokens, before, predicate)), "abc", "abc")[0] == 0


def test_a_mean_over_none_and_numbers_is_undefined() -> None:
    before = rasp.shift(tokens, 1)
    single = rasp.aggregate(select(indices, indices, operator.eq), rasp.numerical(before))
    assert both(single, [0, 1], [0, 1]) == [None, 0]
    mixed = rasp.aggregate(rasp.select_all(), before)
    found = rasp.translate(mixed, vocabulary=[0, 1], longest=4)
    assert both(mixed, [1], [0, 1]) == [None]
    with pytest.raises(es.UndefinedError):
        es.interpret(found.program, found.encode([0, 1]))
    with pytest.raises(es.UndefinedError):
        found.decode(es.compile_program(found.program).run(found.encode([0, 1])).outputs)
    with pytest.raises(es.UndefinedError, match="2 different values"):
        rasp.evaluate(mixed, [0, 1])


def test_what_arithmetic_cannot_answer_is_none() -> None:
    assert both(6 / tokens, [0, 3], [0, 3]) == [None, 2.0]
    assert both(tokens % indices, [5, 5, 5], [5]) == [None, 0, 1]
    assert both(tokens // (tokens - tokens), [5], [5]) == [None]
    assert both(tokens**-1, [0, 2], [0, 2]) == [None, 0.5]
    assert both(indices / length, "abcd", "abcd") == [0, 0.25, 0.5, 0.75]


def test_causal_positions_select_from_their_left() -> None:
    assert both(length, "abc", "abc", causal=True) == [1, 2, 3]
    assert both(rasp.shift(tokens, 1), "abc", "abc", causal=True) == [None, "a", "b"]
    assert both(rasp.shift(tokens, -1), "abc", "abc", causal=True) == [None, None, None]
    rank = rasp.selector_width(select(tokens + indices / 6, tokens + indices / 6, operator.lt))
    assert both(rank, [2, 1, 2, 0], [0, 1, 2], causal=True) == [0, 0, 2, 0]
    share = rasp.aggregate(rasp.select_all(), tokens == "a")
    assert both(share, "abba", "ab", causal=True) == [
        1,
        Fraction(1, 2),
        Fraction(1, 3),
        Fraction(1, 2),
    ]


def test_an_aggregate_is_a_mean_where_numbers_differ() -> None:
    average = rasp.aggregate(rasp.select_all(), tokens)
    assert both(average, [1, 4, 2], range(5)) == [Fraction(7, 3)] * 3
    assert both(rasp.mean(rasp.select_all(), tokens), [2, 2], range(5)) == [2, 2]
    carried = rasp.categorical(average)
    assert both(carried, [2, 2], range(5)) == [2, 2]
    with pytest.raises(es.UndefinedError):
        both(carried, [1, 2], range(5))
    moved = rasp.aggregate(select(indices, length - 1 - indices), indices)
    rules = rasp.translate(moved, vocabulary="a", longest=20).program.rules
    assert len(rules) < 400  # each selects one position: no means


def test_sums_of_means_are_one_mean() -> None:
    so_far = select(indices, indices, operator.le)
    parts = [rasp.mean(so_far, tokens == letter, 0) for letter in "abc"]
    total = 2 * parts[0] - parts[1] + 3 - (parts[2] - 1)
    found = rasp.translate(total, vocabulary="abc", longest=6)
    assert len(found.program.heads) == 2  # the mean, and what detects an empty selection
    called = rasp.elementwise(operator.sub, parts[0], parts[1])
    assert len(rasp.translate(called, vocabulary="abc", longest=6).program.heads) == 2
    assert both(total, "abcab", "abc")[-1] == 4 + Fraction(4, 5) - Fraction(2, 5) - Fraction(1, 5)
    steep = parts[0] + 10**6 * rasp.mean(so_far, indices * indices, 0)  # too many means in one
    assert both(steep, "abc", "abc")[-1] == Fraction(1, 3) + 10**6 * Fraction(5, 3)
    texts = [rasp.aggregate(select(indices, indices), tokens) for _ in range(2)]
    assert both(texts[0] + texts[1], "ab", "ab") == ["aa", "bb"]


def test_full_is_the_same_everywhere() -> None:
    assert both(rasp.full(3) + indices, "abc", "abc") == [3, 4, 5]
    same = rasp.selector_width(select(tokens, rasp.full("a")))
    assert both(same, "abca", "abc") == [2, 2, 2, 2]
