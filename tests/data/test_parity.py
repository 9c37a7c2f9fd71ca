import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import espalier as es
from espalier.data.parity import ParityConfig, parity_set


@given(st.integers(1, 12), st.integers(1, 9), st.integers(0, 3))
def test_every_number_of_ones_is_as_frequent(longest, per_count, seed):
    found = parity_set(ParityConfig(longest, per_count, seed))
    assert np.bincount(found.ones).tolist() == [per_count] * (longest + 1)
    strings = found.strings()
    assert [len(string) for string in strings] == found.lengths.tolist()
    assert [sum(string) for string in strings] == found.ones.tolist()
    assert [sum(string) % 2 for string in strings] == found.parities.tolist()
    assert min(found.lengths) >= 1
    assert max(found.lengths) <= longest
    assert found.tokens()[:, 0].tolist() == [2] * len(found)
    assert np.array_equal(found.tokens()[:, 1:], found.bits)
    assert parity_set(ParityConfig(longest, per_count, seed)).digest == found.digest


def test_places_of_ones_and_lengths_are_anywhere():
    found = parity_set(ParityConfig(4, 500))
    two_of_four = found.bits[(found.ones == 2) & (found.lengths == 4)]
    assert len({tuple(row) for row in two_of_four.tolist()}) == 6
    assert sorted(set(found.lengths[found.ones == 0].tolist())) == [1, 2, 3, 4]


def test_no_strings_are_refused():
    with pytest.raises(es.DataError, match="per_count is 0; it must be at least 1"):
        ParityConfig(per_count=0)
