import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import espalier as es
from espalier import zoo
from espalier.data.parity import ParityConfig, ParitySet, parity_set


@given(st.integers(1, 12), st.integers(1, 9), st.integers(0, 3), st.data())
def test_every_number_of_ones_is_as_frequent(longest, per_count, seed, data):
    config = ParityConfig(longest, per_count, seed, data.draw(st.integers(0, longest)))
    found = parity_set(config)
    assert np.bincount(found.ones).tolist() == [per_count] * (longest + 1)
    strings = found.strings()
    assert [len(string) for string in strings] == found.lengths.tolist()
    assert [string.count("1") for string in strings] == found.ones.tolist()
    assert [string.count("1") % 2 for string in strings] == found.parities.tolist()
    assert min(found.lengths) >= config.shortest
    assert max(found.lengths) <= longest
    assert found.tokens()[:, 0].tolist() == [2] * len(found)
    assert np.array_equal(found.tokens()[:, 1:], found.bits)
    assert parity_set(config).digest == found.digest


@given(st.lists(st.text("01", max_size=12), max_size=6))
def test_strings_that_are_written_down_are_read(strings):
    found = ParitySet.of(strings)
    assert found.strings() == strings
    assert found.parities.tolist() == [string.count("1") % 2 for string in strings]


@pytest.mark.parametrize("string", ["012", "1 0", 3])
def test_what_is_not_bits_is_refused(string):
    with pytest.raises(es.DataError, match=f"with 0 and 1, as '0110'; found {string!r}"):
        ParitySet.of(["01", string])


def test_places_of_ones_and_lengths_are_anywhere():
    found = parity_set(ParityConfig(4, 500))
    two_of_four = found.bits[(found.ones == 2) & (found.lengths == 4)]
    assert len({tuple(row) for row in two_of_four.tolist()}) == 6
    assert sorted(set(found.lengths[found.ones == 0].tolist())) == [0, 1, 2, 3, 4]


def test_the_papers_sets():
    split = es.parity_split()
    assert set(split.train.lengths.tolist()) == set(range(21))
    assert set(split.test.lengths.tolist()) == set(range(41))
    assert np.bincount(split.test.ones).tolist() == [100] * 41
    assert es.parity_split(seed=1).train.digest != split.train.digest
    assert es.parity_split(train_length=40).train.digest != split.test.digest
    entry = zoo.load("parity-sequential-relative")
    expected = [entry.expected(string) for string in split.test.strings()]
    assert expected == split.test.parities.tolist()


def test_what_the_papers_programs_need_of_them():
    """The rule counts of D.1 and the notes: 7, and 31 for at most 20 ones."""
    texts = es.parity_split(each=20).train.strings()
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
    ("settings", "says"),
    [
        ({"each": 0}, "per_count is 0; it must be at least 1"),
        ({"each": 2.5}, "per_count is 2.5, a float; a whole number is expected"),
        ({"seed": -1}, "seed is -1; it must be at least 0"),
        ({"shortest": -1}, "shortest is -1; it must be at least 0"),
        ({"shortest": 5, "train_length": 4}, "found 5 to 4"),
    ],
)
def test_sets_that_cannot_be_are_refused(settings, says):
    with pytest.raises(es.DataError, match=says):
        es.parity_split(**settings)
