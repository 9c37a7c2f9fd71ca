import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import espalier as es
from espalier import zoo


@given(st.integers(1, 12), st.integers(0, 9), st.integers(0, 9), st.integers(0, 2**32))
def test_every_count_of_ones_is_there_equally_often_or_whole(each, shortest, more, seed) -> None:
    split = es.parity_split(
        each=each, shortest=shortest, train_length=shortest + more, test_length=9, seed=seed
    )
    for strings, longest in ((split.train, shortest + more), (split.test, 9)):
        assert len({one.bits for one in strings}) == len(strings)
        assert all(shortest <= one.length <= longest for one in strings)
        counts = Counter(one.ones for one in strings)
        for ones in range(longest + 1):
            there_are = sum(math.comb(n, ones) for n in range(max(ones, shortest), longest + 1))
            assert counts[ones] == min(each, there_are)
    again = es.parity_split(
        each=each, shortest=shortest, train_length=shortest + more, test_length=9, seed=seed
    )
    assert again == split


def test_the_papers_sets() -> None:
    split = es.parity_split()
    assert {one.length for one in split.train} == set(range(21))
    assert {one.length for one in split.test} == set(range(41))
    assert {one.ones for one in split.test} == set(range(41))
    assert Counter(one.ones for one in split.train)[10] == 100
    assert es.parity_split(seed=1).train != split.train
    entry = zoo.load("parity-sequential-relative")
    assert all(entry.expected(one.bits) == one.parity for one in split.test)


def test_what_the_papers_programs_need_of_them() -> None:
    """The rule counts of D.1 and the notes: 7, and 31 for at most 20 ones."""
    texts = [one.bits for one in es.parity_split(each=20).train]
    relative, counting = (
        zoo.load("parity-sequential-relative"),
        zoo.load("parity-sum-modulo", buckets=100),
    )
    for entry, rules in ((relative, 7), (counting, 31)):
        batch = [entry.encode(text) for text in texts]
        small = es.minimal(entry.program, batch, constraints=True, max_layers=entry.max_layers)
        assert len(small.rules) == rules
        assert not small.dropped.constraints


@pytest.mark.parametrize(
    "settings", [{"each": 0}, {"shortest": -1}, {"shortest": 5, "train_length": 4}]
)
def test_sets_that_cannot_be_are_refused(settings) -> None:
    with pytest.raises(es.DataError):
        es.parity_split(**settings)
