import doctest

from hypothesis import given
from hypothesis import strategies as st

import espalier.show.text
from espalier.show.text import first_lines, shorten, without_middle


def test_the_examples_are_true():
    assert doctest.testmod(espalier.show.text).failed == 0


@given(st.text(), st.integers(1, 20))
def test_what_is_shortened_fits_and_can_be_seen(text, most):
    shown = shorten(text, most)
    assert len(shown) <= most
    assert shown.isprintable()
    assert shown == text or "…" in shown or not text.isprintable()


@given(st.lists(st.text("ab"), max_size=30), st.integers(2, 10))
def test_both_ends_stay_and_the_rest_is_counted(words, most):
    kept = without_middle(words, most)
    assert kept == words if len(words) <= most else len(kept) == most + 1
    listed = first_lines(words, most)
    assert listed[:most] == words[:most]
    assert len(listed) == min(len(words), most + 1)
