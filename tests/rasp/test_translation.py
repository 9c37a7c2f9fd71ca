"""Random expressions mean the same on symbols, in weights and by plain evaluation."""

import operator
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import espalier as es
from espalier import rasp
from espalier.rasp import indices, length, tokens

VOCABULARY = "abc"
LONGEST = 5
PREDICATES = [
    operator.eq,
    operator.ne,
    operator.lt,
    operator.ge,
    lambda key, query: True,
    lambda key, query: False,
    lambda key, query: (key + query) % 2 == 0,
]
FUNCTIONS = [
    lambda x: x % 3,
    lambda x: 2 - x,
    lambda x: x > 1,
    lambda x: 7,
]
JOINS = [lambda x, y: (x + y) % 4, lambda x, y: max(x, y), lambda x, y: x == y]

# Tokens as numbers, so that every function and predicate applies to everything.
number = rasp.elementwise(VOCABULARY.index, tokens).named("number")


def selectors(parts: st.SearchStrategy) -> st.SearchStrategy:
    plain = st.builds(rasp.select, parts, parts, st.sampled_from(PREDICATES))
    return st.one_of(
        plain,
        plain.map(operator.invert),
        st.builds(operator.and_, plain, st.just(rasp.select(indices, indices, operator.le))),
        st.builds(operator.or_, plain, plain),
    )


def larger(parts: st.SearchStrategy) -> st.SearchStrategy:
    rounded = st.builds(
        lambda selector, values: rasp.elementwise(
            lambda mean: int(mean > Fraction(1, 2)), rasp.mean(selector, values, Fraction(9))
        ),
        selectors(parts),
        parts.map(lambda part: rasp.elementwise(lambda x: x % 2, part)),
    )
    return st.one_of(
        st.builds(rasp.elementwise, st.sampled_from(FUNCTIONS), parts),
        st.builds(rasp.elementwise, st.sampled_from(JOINS), parts, parts),
        selectors(parts).map(rasp.selector_width),
        st.builds(rasp.shift, parts, st.integers(-2, 2), st.integers(0, 1)),
        rounded,
    )


def small(expression: rasp.Expression) -> bool:
    """Few values, and heads, enough to be tried quickly."""
    facts = rasp.analysis.analyse(expression, VOCABULARY, LONGEST)
    return len(facts) <= 14 and max(len(fact.values) for fact in facts.values()) <= 60


EXPRESSIONS = st.recursive(st.sampled_from([number, indices, length]), larger, max_leaves=6).filter(
    small
)
INPUTS = st.lists(
    st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=LONGEST), min_size=1, max_size=4
)


@given(EXPRESSIONS, INPUTS)
@settings(max_examples=50)
def test_random_expressions(expression: rasp.Expression, inputs: list[list[str]]) -> None:
    found = rasp.translate(expression, vocabulary=VOCABULARY, longest=LONGEST)
    batch = [found.encode(sequence) for sequence in inputs]
    runs = es.interpret_many(found.program, batch)
    expected = [rasp.evaluate(expression, sequence) for sequence in inputs]
    assert [found.decode(run.outputs) for run in runs] == expected
    assert set(runs.layers) == {found.layers}
    assert es.verify(found.program, batch).ok


def run(expression: rasp.Expression, word: str, **settings: object) -> list:
    found = rasp.translate(expression, **{"vocabulary": "abc", "longest": 6, **settings})
    trace = es.interpret(found.program, found.encode(word))
    assert es.compile_program(found.program).run(found.encode(word)).outputs == trace.outputs
    return found.decode(trace.outputs)


def test_expressions_of_the_rasp_paper() -> None:
    same = rasp.select(tokens, tokens, operator.eq)
    assert run(rasp.selector_width(same), "abca") == [2, 1, 1, 2]
    assert run(length, "abca") == [4, 4, 4, 4]
    larger = rasp.exists(rasp.select(tokens, tokens, operator.gt))
    assert run(larger, "abca") == [True, True, False, True]
    assert run(rasp.shift(tokens, 1, "-"), "abca") == ["-", "a", "b", "c"]
    assert run(rasp.shift(tokens, -2, "-"), "abca") == ["c", "a", "-", "-"]
    is_a = rasp.elementwise(lambda letter: int(letter == "a"), tokens)
    share = rasp.mean(rasp.select(indices, indices, operator.le), is_a)
    assert run(share, "abba") == [1, Fraction(1, 2), Fraction(1, 3), Fraction(1, 2)]
    mirrored = rasp.aggregate(rasp.select(indices, length - indices - 1), tokens)
    assert run(mirrored, "abbc") == ["c", "b", "b", "a"]


def test_arithmetic_stands_for_elementwise() -> None:
    assert run(2 * indices + 1, "abc") == [1, 3, 5]
    assert run(10 - indices, "abc") == [10, 9, 8]
    assert run(indices * length - number, "cba") == [-2, 2, 6]


def test_layers_are_counted_as_documented() -> None:
    def layers(expression: rasp.Expression) -> int:
        return rasp.translate(expression, vocabulary="abc", longest=6).layers

    count = rasp.selector_width(rasp.select(tokens, tokens))
    assert layers(tokens) == layers(number + 1) == layers(indices * 2) == 1
    assert layers(number + indices) == 1  # a rule that reads two tables
    assert layers(count) == layers(count + 1) == layers(count + number) == 1
    assert layers(count + length) == 1  # two heads of one layer
    assert layers((count + number) + indices) == 2  # reads a variable that layer 1 writes
    assert layers(rasp.aggregate(rasp.select(count, count), count)) == 2


def test_an_expression_used_twice_is_computed_once() -> None:
    count = rasp.selector_width(rasp.select(tokens, tokens)).named("count")
    found = rasp.translate(count + count * 2, vocabulary="abc", longest=4)
    assert list(found.program.heads) == ["count_share"]


def test_names_become_variables_and_never_clash() -> None:
    first, second = (indices + 1).named("place"), (indices + number).named("place")
    program = rasp.translate(first * second, vocabulary="abc", longest=4).program
    assert {"place", "place_1"} <= set(program.variables)


DERIVED = ["share", "head", "some", "number", "selects", "selects_2", "1"]


@pytest.mark.parametrize("part", DERIVED)
def test_names_that_people_give_never_clash_with_derived_ones(part: str) -> None:
    """Each expression comes with one that is named as a part of it would be."""
    every = rasp.select_all()
    for make in (
        lambda: rasp.selector_width(rasp.select(number, number)),
        lambda: rasp.aggregate(rasp.select(indices, indices), number),
        lambda: rasp.aggregate(rasp.select(number, number, operator.lt), rasp.always, False),
        lambda: rasp.mean(every, (number + 0).named("x")),
        lambda: rasp.selector_width(rasp.select((number + 0).named("x"), indices)),
    ):
        one, other = make().named("x"), (indices * 2).named(f"x_{part}")
        both = rasp.elementwise(lambda a, b: (a, b), one, other)
        assert run(both, "abca") == rasp.evaluate(both, "abca")
        names = rasp.translate(both, vocabulary="abc", longest=6).program.variables
        assert f"x_{part}" in names


def test_what_selects_different_values_is_undefined_everywhere() -> None:
    muddled = rasp.aggregate(rasp.select_all(), tokens)
    found = rasp.translate(muddled, vocabulary="abc", longest=4)
    assert found.decode(es.interpret(found.program, found.encode("aa")).outputs) == ["a", "a"]
    with pytest.raises(es.UndefinedError, match="different values"):
        es.interpret(found.program, found.encode("ab"))
    with pytest.raises(es.UndefinedError, match="2 different values"):
        rasp.evaluate(muddled, "ab")
    with pytest.raises(es.UndefinedError, match="position 0 has no value"):
        found.decode(es.compile_program(found.program).run(found.encode("ab")).outputs)


def test_an_empty_selection_needs_a_default() -> None:
    none = rasp.select(indices, indices, lambda key, query: False)
    assert run(rasp.aggregate(none, tokens, "?"), "ab") == ["?", "?"]
    assert run(rasp.mean(none, indices, -1), "ab") == [-1, -1]
    for expression in (rasp.aggregate(none, tokens), rasp.mean(none, indices)):
        with pytest.raises(es.UndefinedError):
            run(expression, "ab")
        with pytest.raises(es.UndefinedError):
            rasp.evaluate(expression, "ab")


def tokens_as(value: object) -> rasp.Expression:
    return rasp.elementwise(lambda token: value, tokens)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rasp.elementwise(lambda x: 1 / x, indices), r"fails on \(0\): ZeroDivisionError"),
        (lambda: rasp.elementwise(lambda x: [x], indices), "unhashable"),
        (lambda: rasp.mean(rasp.select_all(), tokens), "mean needs numbers"),
        (lambda: rasp.mean(rasp.select_all(), 3**indices), "more than 20,000"),
        (lambda: 3, "translate needs an expression"),
        (lambda: rasp.elementwise(abs), "at least one expression"),
        (lambda: rasp.elementwise(abs, 3), "an expression is needed"),
        (lambda: rasp.aggregate(tokens, tokens), "a selector is needed"),
        (
            lambda: rasp.selector_width(rasp.select(tokens, indices, operator.lt)),
            "key 'a' and query 0",
        ),
        (lambda: rasp.select(tokens, tokens, "<"), "a function of a key and a query"),
        (lambda: rasp.mean(rasp.select_all(), tokens_as(float("inf"))), "finite; found inf"),
        (lambda: rasp.mean(rasp.select_all(), tokens_as(float("nan"))), "finite; found nan"),
        (lambda: rasp.mean(rasp.select_all(), tokens_as(10**400)), "finite; found 1000"),
        (lambda: rasp.aggregate(rasp.select_all(), tokens, [1]), r"default .* is \[1\]: unhash"),
        (lambda: rasp.mean(rasp.select_all(), indices, [1]), r"default .* is \[1\]: unhash"),
        (lambda: rasp.select_all() & 5, "a selector is needed.* found 5"),
        (lambda: rasp.select_all() | tokens, "a selector is needed"),
        (lambda: rasp.shift(tokens, "x", "-"), "steps of a shift must be an integer"),
        (lambda: tokens.named(5), "named by a text; found 5"),
    ],
)
def test_what_cannot_be_translated_is_refused(make, message: str) -> None:
    with pytest.raises(es.ProgramError, match=message):
        rasp.translate(make(), vocabulary="abc", longest=16)


@pytest.mark.parametrize(
    ("expression", "sequence", "message"),
    [
        (5, "a", "evaluate needs an expression; found 5"),
        (tokens, 5, "the input must be a collection"),
        (tokens, [["a"]], "position 0 of the input"),
        (rasp.elementwise(lambda x: 1 / x, indices), "a", r"fails on \(0\): ZeroDivisionError"),
        (rasp.elementwise(lambda x: [x], indices), "a", "unhashable"),
        (rasp.mean(rasp.select_all(), tokens_as(float("inf"))), "a", "finite; found inf"),
        (rasp.mean(rasp.select_all(), tokens), "a", "mean needs numbers"),
        (
            rasp.selector_width(rasp.select(tokens, indices, operator.lt)),
            "a",
            "key 'a' and query 0",
        ),
    ],
)
def test_what_cannot_be_evaluated_is_refused(expression, sequence, message: str) -> None:
    with pytest.raises(es.ProgramError, match=message):
        rasp.evaluate(expression, sequence)


def test_combinations_beyond_reason_are_refused() -> None:
    pair = rasp.elementwise(lambda *values: values, indices, length)
    with pytest.raises(es.ProgramError, match=r"combines 60 x 61 x 3660 values|more than 100,000"):
        rasp.translate(
            rasp.elementwise(lambda *v: v, indices, length, pair), vocabulary="a", longest=60
        )


def test_comparisons_beyond_reason_are_refused() -> None:
    count = rasp.selector_width(rasp.select(tokens, tokens))
    pair = rasp.elementwise(lambda *values: values, count, length)
    with pytest.raises(es.ProgramError, match=r"1,681 possible keys with 1,681 possible queries"):
        rasp.translate(
            rasp.selector_width(rasp.select(pair, pair, operator.lt)), vocabulary="a", longest=40
        )


def test_inputs_are_checked() -> None:
    found = rasp.translate(tokens, vocabulary="abc", longest=3)
    with pytest.raises(es.ProgramError, match="4 tokens; this program takes 1 to 3"):
        found.encode("abca")
    with pytest.raises(es.ProgramError, match="position 1 holds 'x'"):
        found.encode("ax")
    for unhashable in (["a"], (["a"],)):
        with pytest.raises(es.ProgramError, match="position 0 of the input is"):
            found.encode([unhashable])
    with pytest.raises(es.ProgramError, match="the input must be a collection"):
        found.encode(5)
    for vocabulary in ("aa", "", [["a"]], [(["a"],)], 3):
        with pytest.raises(es.ProgramError, match="the vocabulary"):
            rasp.translate(tokens, vocabulary=vocabulary, longest=3)
    with pytest.raises(es.ProgramError, match="longest must be at least 1"):
        rasp.translate(tokens, vocabulary="ab", longest=0)
