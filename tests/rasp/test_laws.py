"""Random expressions with every operator, None and causal selection mean one thing in four ways.

Each expression is drawn together with a function that says, in plain loops, what it means.
"""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from hypothesis import assume, given, settings
from hypothesis import strategies as st

import espalier as es
from espalier import rasp

VOCABULARY = "abc"
LONGEST = 5


@dataclass(frozen=True)
class Drawn:
    """An expression, or a selector, and its meaning for a word (one that looks back only)."""

    made: object
    meaning: Callable[[str, bool], list]


def number_at(word: str, causal: bool) -> list:
    return [VOCABULARY.index(letter) for letter in word]


def count_seen(word: str, causal: bool) -> list:
    return [place + 1 if causal else len(word) for place in range(len(word))]


LEAVES = [
    Drawn(rasp.elementwise(VOCABULARY.index, rasp.tokens), number_at),
    Drawn(rasp.indices, lambda word, causal: list(range(len(word)))),
    Drawn(rasp.length, count_seen),
]

UNARY = [
    (lambda x: x % 3, lambda a: a % 3),
    (lambda x: 2 - x, lambda a: 2 - a),
    (lambda x: 2 * x + 1, lambda a: 2 * a + 1),
    (lambda x: x // 2, lambda a: a // 2),
    (lambda x: 6 // x, lambda a: 6 // a if a else None),
    (lambda x: 1 / x, lambda a: 1 / a if a else None),
    (lambda x: x**2, lambda a: a**2),
    (lambda x: -abs(+x), lambda a: -abs(a)),
    (lambda x: ~x, lambda a: not a),
    (lambda x: x & 2, lambda a: a and 2),
    (lambda x: 0 | x, lambda a: a),
    (lambda x: x == 1, lambda a: a == 1),
    (lambda x: x != 1, lambda a: a != 1),
    (lambda x: x > 1, lambda a: a > 1),
    (lambda x: x <= 1, lambda a: a <= 1),
]
BINARY = [
    (lambda x, y: x == y, lambda a, b: a == b),
    (lambda x, y: x <= y, lambda a, b: a <= b),
    (lambda x, y: x & y, lambda a, b: a and b),
    (lambda x, y: x | y, lambda a, b: a or b),
    (lambda x, y: x - y, lambda a, b: a - b),
    (lambda x, y: x / y, lambda a, b: a / b if b else None),
    (lambda x, y: (x + y) % 4, lambda a, b: (a + b) % 4),
]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


def mapped(operation: tuple[Callable, Callable], *parts: Drawn) -> Drawn:
    make, function = operation

    def meaning(word: str, causal: bool) -> list:
        rows = zip(*(part.meaning(word, causal) for part in parts), strict=True)
        return [None if None in row else function(*row) for row in rows]

    return Drawn(make(*(part.made for part in parts)), meaning)


def selected(keys: Drawn, queries: Drawn, compare: Callable) -> Drawn:
    def meaning(word: str, causal: bool) -> list:
        of_key, of_query = keys.meaning(word, causal), queries.meaning(word, causal)
        return [
            [key is not None and query is not None and bool(compare(key, query)) for key in of_key]
            for query in of_query
        ]

    return Drawn(rasp.select(keys.made, queries.made, compare), meaning)


def joined(one: Drawn, other: Drawn, join: Callable) -> Drawn:
    def meaning(word: str, causal: bool) -> list:
        rows = zip(one.meaning(word, causal), other.meaning(word, causal), strict=True)
        return [[join(a, b) for a, b in zip(left, right, strict=True)] for left, right in rows]

    return Drawn(join(one.made, other.made), meaning)


def chosen(selector: Drawn, word: str, causal: bool) -> list[list[int]]:
    return [
        [key for key, holds in enumerate(row) if holds and not (causal and key > query)]
        for query, row in enumerate(selector.meaning(word, causal))
    ]


def width(selector: Drawn) -> Drawn:
    def meaning(word: str, causal: bool) -> list:
        return [len(places) for places in chosen(selector, word, causal)]

    return Drawn(rasp.selector_width(selector.made), meaning)


class UndefinedMeaningError(Exception):
    """The expression has no value on this word."""


def aggregated(selector: Drawn, values: Drawn, default: object, make: Callable) -> Drawn:
    def meaning(word: str, causal: bool) -> list:
        carried, found = values.meaning(word, causal), []
        for places in chosen(selector, word, causal):
            held = [carried[place] for place in places]
            if not held:
                found.append(default)
            elif None in held:
                if any(value is not None for value in held):
                    raise UndefinedMeaningError
                found.append(None)
            else:
                found.append(sum(Fraction(value) for value in held) / len(held))
        return found

    return Drawn(make(selector.made, values.made, default), meaning)


PLACES = st.sampled_from(COMPARISONS).map(lambda compare: selected(LEAVES[1], LEAVES[1], compare))


def selectors(parts: st.SearchStrategy) -> st.SearchStrategy:
    plain = st.builds(selected, parts, parts, st.sampled_from(COMPARISONS))
    joins = st.sampled_from([operator.and_, operator.or_])
    return st.one_of(plain, st.builds(joined, plain, st.one_of(PLACES, plain), joins))


def larger(parts: st.SearchStrategy) -> st.SearchStrategy:
    few = parts.map(lambda part: mapped((lambda x: x % 2, lambda a: a % 2), part))
    return st.one_of(
        st.builds(mapped, st.sampled_from(UNARY), parts),
        st.builds(mapped, st.sampled_from(BINARY), parts, parts),
        selectors(parts).map(width),
        st.builds(
            aggregated,
            selectors(parts),
            few,
            st.sampled_from([None, 0]),
            st.sampled_from([rasp.aggregate, rasp.mean]),
        ),
        st.builds(
            lambda part, compare: mapped(compare, part),
            st.builds(aggregated, PLACES, few, st.sampled_from([None, 0]), st.just(rasp.aggregate)),
            st.sampled_from(UNARY[-4:]),
        ),
    )


def is_small(drawn: Drawn) -> bool:
    """Few values, and heads, enough to be tried quickly; arithmetic that is exact in floats."""
    try:
        facts = rasp.analysis.analyse(drawn.made, VOCABULARY, LONGEST)
    except es.ProgramError:
        return False
    values = [value for fact in facts.values() for value in fact.values]
    exact = all(not isinstance(v, float) or (8 * v).is_integer() for v in values)
    return len(facts) <= 14 and max(len(fact.values) for fact in facts.values()) <= 60 and exact


EXPRESSIONS = st.recursive(st.sampled_from(LEAVES), larger, max_leaves=6).filter(is_small)
WORDS = st.lists(
    st.text(VOCABULARY, min_size=1, max_size=LONGEST), min_size=1, max_size=4, unique=True
)


@given(EXPRESSIONS, WORDS, st.booleans())
@settings(max_examples=settings().max_examples // 2)
def test_one_meaning(drawn: Drawn, words: list[str], causal: bool) -> None:
    found = rasp.translate(drawn.made, vocabulary=VOCABULARY, longest=LONGEST, causal=causal)
    expected = {}
    for word in words:
        try:
            expected[word] = drawn.meaning(word, causal)
        except UndefinedMeaningError:
            continue
    assume(expected)
    for word, values in expected.items():
        assert rasp.evaluate(drawn.made, word, causal=causal) == values
    batch = [found.encode(word) for word in expected]
    runs = es.interpret_many(found.program, batch)
    assert [found.decode(run.outputs) for run in runs] == list(expected.values())
    assert set(runs.layers) == {found.layers}
    assert es.verify(found.program, batch).ok
