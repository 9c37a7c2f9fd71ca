import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dice import Dice
from espalier.errors import ProgramError
from espalier.language import numerical_var, set_var, show_value, var
from espalier.language.variables import OUT_OF_RANGE
from reference import nearest_bucket
from strategies import random_buckets


@st.composite
def numbers_with_buckets(draw):
    buckets = random_buckets(Dice(draw))
    spots = [*buckets, *((low + high) / 2 for low in buckets for high in buckets)]
    near = st.sampled_from(spots).flatmap(lambda s: st.sampled_from([s, s - 1 / 64, s + 1 / 64]))
    return numerical_var(buckets), draw(near | st.integers(-40, 40).map(lambda n: n / 16))


@given(numbers_with_buckets())
def test_a_number_belongs_to_the_nearest_bucket_and_a_tie_to_the_lower(spec_and_number):
    spec, number = spec_and_number
    assert spec.values[spec.bucket(number)] == nearest_bucket(spec, Fraction(number))


@pytest.mark.parametrize("buckets", [(0, 1), (-1.5, 0.1, 0.3), (1 / 3, 1 / 2, 1), (0, 1e-6, 1e3)])
def test_midpoints_belong_below_and_what_is_above_them_above(buckets):
    spec = numerical_var(buckets)
    for code, (low, high) in enumerate(itertools.pairwise(buckets)):
        middle, gap = (low + high) / 2, high - low
        assert spec.bucket(middle) == code
        assert spec.bucket(middle - gap / 1000) == code
        assert spec.bucket(middle + gap / 1000) == code + 1
        assert spec.bucket(low) == code
        assert spec.bucket(high) == code + 1
    assert spec.bucket(-1e9) == 0
    assert spec.bucket(1e9) == len(buckets) - 1


SPECS = [
    var(1),
    var(5, default=3),
    numerical_var((0, 0.5, 2)),
    numerical_var([-1, 1], default=0.3),
    set_var([{0}, {1, 2}, set()]),
    set_var([{3}], 9),
]


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_codes_number_the_values_in_order(spec):
    assert [spec.code(value) for value in spec.values] == list(range(len(spec.values)))
    assert [spec.check(value) for value in spec.values] == list(spec.values)
    assert len(set(spec.values)) == len(spec.values)


def test_values_are_python_numbers_whatever_they_were_made_from():
    spec = var(np.int64(3), default=np.int8(2))
    assert spec.values == (0, 1, 2)
    assert (type(spec.size), type(spec.init.default)) == (int, int)
    assert type(spec.check(np.uint8(1))) is int
    assert type(spec.check(True)) is int
    assert type(spec.check(np.bool_(True))) is int
    numbers = numerical_var(np.array([0, 1, 2]), default=np.float32(0.5))
    assert numbers.values == (0.0, 1.0, 2.0)
    assert {type(value) for value in (*numbers.values, numbers.init.default)} == {float}
    assert type(numbers.check(1)) is float
    sets = set_var([np.array([0, 2]), {np.int64(1)}], np.int64(3))
    assert sets.values == (frozenset({0, 2}), frozenset({1}))
    assert {type(element) for value in sets.values for element in value} == {int}


@pytest.mark.parametrize("size", [3, np.int64(3), np.uint8(3)], ids=repr)
def test_the_range_of_a_set_may_come_first(size):
    assert set_var(size, [{0}, {1}]) == set_var([{0}, {1}], size)


def test_a_set_without_a_range_has_the_least_that_holds_it():
    assert set_var([{0}, {4, 1}]).size == 5
    assert set_var([{0}, {4, 1}], 7).size == 7


def test_a_set_starts_empty_where_it_can():
    assert set_var([{1}, set()]).init.default == frozenset()
    assert set_var([{1}, {0}]).init.default == {1}
    assert set_var([{1}, {0}], default=[0]).init.default == {0}


@pytest.mark.parametrize(
    ("spec", "value"),
    [
        (var(3), 3),
        (var(3), -1),
        (var(3), 1.0),
        (var(3), np.float64(1)),
        (var(3), "1"),
        (var(3), None),
        (var(3), np.array([1])),
        (var(3), np.array([1, 2])),
        (numerical_var((0, 1)), 0.5),
        (numerical_var((0, 1)), 1 + 1e-6),
        (numerical_var((0, 1)), 7),
        (numerical_var((0, 1)), float("nan")),
        (numerical_var((0, 1)), "0"),
        (numerical_var((0, 1)), None),
        (numerical_var((0, 1)), 10**400),
        (set_var([{0}, {1}]), {0, 1}),
        (set_var([{0}, {1}]), 1),
        (set_var([{0}, {1}]), {0.0}),
        (set_var([{0}, {1}]), "0"),
        (set_var([{0}, {1}]), None),
    ],
    ids=lambda given: str(given)[:24],
)
def test_a_value_that_was_not_declared_is_refused(spec, value):
    with pytest.raises(ProgramError):
        spec.check(value)
    with pytest.raises(ProgramError):
        spec.code(value)


def test_a_number_may_start_between_its_buckets_but_not_be_written_there():
    spec = numerical_var((0, 1), default=0.25)
    assert spec.init.default == 0.25
    assert spec.check_initial(0.75) == 0.75
    with pytest.raises(ProgramError, match=r"0\.75"):
        spec.check(0.75)


@pytest.mark.parametrize("junk", [np.array([2, 3]), np.array(2.5), [2], {}, ...], ids=repr)
def test_a_range_that_is_not_a_number_is_refused(junk):
    with pytest.raises(ProgramError):
        var(junk)
    with pytest.raises(ProgramError):
        set_var([{0}], junk)


@pytest.mark.parametrize("junk", [None, "01", np.array(1.0), [[0], [1]], [0, None]], ids=repr)
def test_buckets_that_are_not_numbers_are_refused(junk):
    with pytest.raises(ProgramError):
        numerical_var(junk)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(3, "3"), (0.25, "0.25"), (frozenset({2, 1}), "{1,2}"), (frozenset(), "{}"), (None, "∅")],
)
def test_values_are_shown_as_users_write_them(value, shown):
    assert show_value(value) == shown


@given(st.integers(1, 9), st.integers(-30, 30))
def test_a_write_out_of_range_is_refused_saturates_or_wraps_as_the_variable_says(size, value):
    assert (
        var(size, out_of_range="saturate").check_written(value) == sorted((0, value, size - 1))[1]
    )
    assert var(size, out_of_range="wrap").check_written(value) == value % size
    for choice in OUT_OF_RANGE:
        spec = var(size, out_of_range=choice)
        if 0 <= value < size:
            assert spec.check_written(value) == spec.check(value) == value
        else:
            with pytest.raises(ProgramError):
                spec.check(value)
    if not 0 <= value < size:
        with pytest.raises(ProgramError, match=f"{value} is outside"):
            var(size).check_written(value)


def test_saturating_changes_no_first_value_and_needs_an_integer():
    for choice in ("saturate", "wrap"):
        with pytest.raises(ProgramError, match="default: 3 is outside"):
            var(3, default=3, out_of_range=choice)
        with pytest.raises(ProgramError, match="integer"):
            var(3, out_of_range=choice).check_written(1.0)
    with pytest.raises(ProgramError, match=r"refuse, saturate, wrap; found 'clip'"):
        var(3, out_of_range="clip")


@pytest.mark.parametrize(
    "make",
    [
        lambda: var(10**9),
        lambda: set_var([{0}], 10**9),
        lambda: set_var([{10**9}]),
        lambda: set_var(itertools.repeat({1})),
        lambda: numerical_var(itertools.count()),
        lambda: set_var([itertools.repeat(1)]),
    ],
)
def test_what_is_too_large_is_refused_by_its_size(make):
    with pytest.raises(ProgramError, match=r"at most 1,000,000|4,000,000 items at most"):
        make()
