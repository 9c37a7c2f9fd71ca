"""Tracr's public test cases: their programs, inputs and answers, as a table, and at length 128.

Tracr compares numbers to half a percent; here they are exact, or the nearest float. Its causal
cases are the first ten and one of their own. The nine programs that it refuses run as well.
"""

import random
from fractions import Fraction
from operator import eq, le, lt

import pytest
from benchmarks import rasp_library as library

import espalier as es
from espalier import rasp
from espalier.rasp import indices, length, numerical, select, select_all, selector_width, tokens

FAR = 128

PARENTHESES = "abc()"
BEFORE_L = library.fraction_before(tokens == "l")
BEFORE_OPEN, BEFORE_CLOSE = (library.fraction_before(tokens == bracket) for bracket in "()")
DYCK_2, DYCK_3 = library.shuffle_dyck("()", "{}"), library.shuffle_dyck("()", "{}", "[]")
BY_TOKEN = library.sort_unique(tokens, tokens)
BY_PLACE = library.sort_unique(tokens, 1 - indices)
BALANCE = library.pair_balance("(", ")")
FEW, COUNT_A = library.count_less_frequent(2), library.count("a")
PLUS = library.join(lambda x, y, z: x + y - z, tokens, tokens, indices)
OVER = library.join(lambda x, y, z: x * y / z, indices, indices, tokens)


def sorted_by(keys: rasp.Expression, longest: int) -> rasp.Expression:
    return library.sort(tokens, keys, longest)


# Name, expression (or what makes one for a longest input), vocabulary, input, answer, the longest
# input of Tracr's case.
EITHER = [
    ("frac_prevs_1", BEFORE_L, "helo", "hello", [0, 0, 1 / 3, 1 / 2, 2 / 5], 5),
    (
        "frac_prevs_2",
        BEFORE_OPEN,
        PARENTHESES,
        "a()b(c))",
        [0, 1 / 2, 1 / 3, 1 / 4, 2 / 5, 2 / 6, 2 / 7, 2 / 8],
        10,
    ),
    (
        "frac_prevs_3",
        BEFORE_CLOSE,
        PARENTHESES,
        "a()b(c))",
        [0, 0, 1 / 3, 1 / 4, 1 / 5, 1 / 6, 2 / 7, 3 / 8],
        10,
    ),
    ("shift_by_one", rasp.shift(tokens, 1), "abcd", "abcd", [None, *"abc"], 5),
    ("shift_by_two", rasp.shift(tokens, 2), "abcd", "abcd", [None, None, *"ab"], 5),
    ("detect_pattern_a", library.detect(tokens, "a"), "abcd", "bacd", [0, 1, 0, 0], 5),
    ("detect_pattern_ab", library.detect(tokens, "ab"), "ab", "aaba", [None, 0, 1, 0], 5),
    ("detect_pattern_ab_2", library.detect(tokens, "ab"), "ab", "abaa", [None, 1, 0, 0], 5),
    ("detect_pattern_ab_3", library.detect(tokens, "ab"), "ab", "aaaa", [None, 0, 0, 0], 5),
    (
        "detect_pattern_abc",
        library.detect(tokens, "abc"),
        "abc",
        "abcabc",
        [None, None, 1, 0, 0, 1],
        6,
    ),
]
CASES = [
    *EITHER,
    ("reverse_1", library.reverse, "abcd", "abcd", list("dcba"), 5),
    ("reverse_2", library.reverse, "abcd", "abc", list("cba"), 5),
    ("reverse_3", library.reverse, "abcd", "ad", list("da"), 5),
    ("reverse_4", library.reverse, "abcd", "c", ["c"], 5),
    ("length_categorical_1", rasp.categorical(length), "abcd", "abc", [3, 3, 3], 3),
    ("length_categorical_2", rasp.categorical(length), "abcd", "ad", [2, 2], 3),
    ("length_categorical_3", rasp.categorical(length), "abcd", "c", [1], 3),
    ("length_numerical_1", numerical(length), "abcd", "abc", [3, 3, 3], 3),
    ("length_numerical_2", numerical(length), "abcd", "ad", [2, 2], 3),
    ("length_numerical_3", numerical(length), "abcd", "c", [1], 3),
    (
        "pair_balance_1",
        BALANCE,
        PARENTHESES,
        "a()b(c))",
        [0, 1 / 2, 0, 0, 1 / 5, 1 / 6, 0, -1 / 8],
        10,
    ),
    ("shuffle_dyck2_1", DYCK_2, "(){}", "({)}", [1] * 4, 5),
    ("shuffle_dyck2_2", DYCK_2, "(){}", "(){)}", [0] * 5, 5),
    ("shuffle_dyck2_3", DYCK_2, "(){}", "{}(", [0] * 3, 5),
    ("shuffle_dyck3_1", DYCK_3, "(){}[]", "({)[}]", [1] * 6, 6),
    ("shuffle_dyck3_2", DYCK_3, "(){}[]", "(){)}", [0] * 5, 6),
    ("shuffle_dyck3_3", DYCK_3, "(){}[]", "{}[(]", [0] * 5, 6),
    ("hist", library.hist, "abcd", "abac", [2, 1, 2, 1], 5),
    ("sort_unique_1", BY_TOKEN, range(1, 5), [2, 4, 3, 1], [1, 2, 3, 4], 5),
    ("sort_unique_2", BY_PLACE, "abcd", "abcd", list("dcba"), 5),
    ("sort_1", lambda n: sorted_by(tokens, n), range(1, 5), [2, 4, 3, 1], [1, 2, 3, 4], 5),
    ("sort_2", lambda n: sorted_by(1 - indices, n), "abcd", "abcd", list("dcba"), 5),
    ("sort_3", lambda n: sorted_by(tokens, n), range(1, 5), [2, 4, 1, 2], [1, 2, 2, 4], 5),
    ("sort_freq", library.sort_by_frequency, range(1, 5), [2, 4, 2, 1], [2, 2, 4, 1], 5),
    ("count_less_freq_categorical_1", FEW, "abcd", "aaabbc", [3] * 6, 6),
    ("count_less_freq_categorical_2", FEW, "abcd", "aacbbc", [6] * 6, 6),
    ("count_less_freq_numerical_1", numerical(FEW), "abcd", "aaabbc", [3] * 6, 6),
    ("count_less_freq_numerical_2", numerical(FEW), "abcd", "aacbbc", [6] * 6, 6),
    ("count_1", COUNT_A, "abc", "aaabbc", [3] * 6, 8),
    ("count_2", COUNT_A, "abc", "cabc", [1] * 4, 8),
    ("count_3", COUNT_A, "abc", "bbc", [0] * 3, 8),
    ("nary_sequencemap_1", PLUS, [1, 2, 3], [1, 2, 3], [2, 3, 4], 5),
    ("nary_sequencemap_2", OVER, [1, 2, 3], [1, 2, 3], [0, 1 / 2, 4 / 3], 3),
]
EVERY = select(tokens, tokens, lambda key, query: True)
CAUSAL = [*EITHER, ("selector_width", selector_width(EVERY), "abcd", "abcd", [1, 2, 3, 4], 5)]

plain_tokens, plain_indices = numerical(tokens + 0), numerical(indices + 0)
REFUSED_BY_TRACR = [
    ("numerical_categorical_aggregate", rasp.aggregate(EVERY, plain_tokens), [2, 2, 2]),
    ("categorical_numerical_aggregate", numerical(rasp.aggregate(EVERY, tokens)), [2, 2, 2]),
    ("numerical_numerical_aggregate", numerical(rasp.aggregate(EVERY, plain_tokens, 0)), [2, 2, 2]),
    (
        "aggregate_with_not_None_default",
        numerical(rasp.aggregate(select(indices, indices, eq), tokens, 1)),
        [1, 3, 2],
    ),
    ("numerical_selector", selector_width(select(plain_tokens, plain_tokens, lt)), [0, 2, 1]),
    ("numerical_SequenceMap", numerical(plain_indices + plain_tokens), [1, 4, 4]),
    ("categorical_LinearSequenceMap", rasp.categorical(1 * indices + 1 * tokens), [1, 4, 4]),
    ("numerical_tokens", numerical(tokens), [1, 3, 2]),
    ("numerical_indices", numerical(indices), [0, 1, 2]),
]


def test_the_table_is_whole() -> None:
    assert len(CASES) == 43
    assert len(CAUSAL) == 11
    assert len({name for name, *_ in CASES}) == 43


def outcomes(found: rasp.Translation, word: object) -> list:
    """The answer on symbols, which is that of the weights."""
    trace = es.interpret(found.program, found.encode(word))
    assert es.compile_program(found.program).run(found.encode(word)).outputs == trace.outputs
    return found.decode(trace.outputs)


def as_floats(values: list) -> list:
    return [float(v) if isinstance(v, Fraction | bool) else v for v in values]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_a_case(case: tuple) -> None:
    _, expression, vocabulary, word, answer, longest = case
    if not isinstance(expression, rasp.Expression):
        expression = expression(longest)
    found = rasp.translate(expression, vocabulary=vocabulary, longest=longest)
    assert as_floats(outcomes(found, word)) == answer
    assert as_floats(rasp.evaluate(expression, word)) == answer


@pytest.mark.parametrize("case", CAUSAL, ids=lambda case: case[0])
def test_a_causal_case(case: tuple) -> None:
    _, expression, vocabulary, word, answer, longest = case
    found = rasp.translate(expression, vocabulary=vocabulary, longest=longest, causal=True)
    assert as_floats(outcomes(found, word)) == answer
    assert as_floats(rasp.evaluate(expression, word, causal=True)) == answer


@pytest.mark.parametrize("case", REFUSED_BY_TRACR, ids=lambda case: case[0])
@pytest.mark.parametrize("causal", [False, True])
def test_what_tracr_refuses_runs(case: tuple, causal: bool) -> None:
    _, expression, answer = case
    word = [1, 3, 2]
    found = rasp.translate(expression, vocabulary=word, longest=5, causal=causal)
    assert outcomes(found, word) == rasp.evaluate(expression, word, causal=causal)
    assert causal or outcomes(found, word) == answer


# One of each program: at 128 the cases of one program differ in nothing but their input.
SLOW = ("frac_prevs_2", "shuffle_dyck3_1", "sort_3")
FAR_NAMES = [
    "shift_by_two", "detect_pattern_abc", "reverse_1", "length_categorical_1", "pair_balance_1",
    "shuffle_dyck2_1", "hist", "sort_unique_1", "sort_unique_2", "sort_freq",
    "count_less_freq_categorical_1", "count_1", "nary_sequencemap_1", "nary_sequencemap_2",
    *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW),
]  # fmt: skip


@pytest.mark.parametrize("name", FAR_NAMES)
def test_inputs_of_128_tokens(name: str) -> None:
    _, expression, vocabulary, *_ = next(case for case in CASES if case[0] == name)
    if not isinstance(expression, rasp.Expression):
        expression = expression(FAR)
    if name == "sort_unique_1":
        vocabulary = range(FAR)
    found = rasp.translate(expression, vocabulary=vocabulary, longest=FAR)
    source = random.Random(0)
    words = [far_word(name, vocabulary, size, source) for size in (FAR, FAR, 97, 1)]
    batch = [found.encode(word) for word in words]
    runs = es.interpret_many(found.program, batch)
    assert es.compile_program(found.program).run_many(batch) == runs
    expected = [rasp.evaluate(expression, word) for word in words]
    assert [found.decode(run.outputs) for run in runs] == expected


def far_word(name: str, vocabulary: object, size: int, source: random.Random) -> list:
    if name == "sort_unique_1":
        return source.sample(list(vocabulary), size)
    if name.startswith("shuffle_dyck") and size % 2 == 0:
        return balanced(list(vocabulary), size, source)
    return source.choices(list(vocabulary), k=size)


def balanced(brackets: list, size: int, source: random.Random) -> list:
    """A word in which every kind of bracket is balanced, with other kinds in between."""
    kinds = list(zip(brackets[::2], brackets[1::2], strict=True))
    still_open, word = [], []
    while len(word) < size:
        if still_open and (len(still_open) >= size - len(word) or source.random() < 0.5):
            word.append(still_open.pop(source.randrange(len(still_open))))
        else:
            opening, closing = source.choice(kinds)
            word.append(opening)
            still_open.append(closing)
    return word


def test_long_balanced_words_are_distinguished_from_others() -> None:
    word = balanced(list("(){}"), FAR, random.Random(1))
    assert rasp.evaluate(DYCK_2, word) == [True] * FAR
    assert rasp.evaluate(DYCK_2, word[1:] + word[:1]) == [False] * FAR


def test_a_running_share_needs_no_annotation() -> None:
    share = rasp.aggregate(select(indices, indices, le), tokens == "a", 0)
    found = rasp.translate(share, vocabulary="ab", longest=6)
    assert as_floats(outcomes(found, "abba")) == [1, 1 / 2, 1 / 3, 1 / 2]
    average = rasp.aggregate(select_all(), tokens)
    found = rasp.translate(average, vocabulary=range(6), longest=6)
    assert as_floats(outcomes(found, [5, 0, 3])) == [8 / 3] * 3
