import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import espalier as es
from espalier.data.treebank import Parsed
from espalier.errors import DataError
from espalier.show.arcs import arcs, strongest
from lstm_models import random_model

WORDS = ("the", "<b>", "sat", "on", "mat")
PARSE = Parsed(
    "s", WORDS, ("DET", "NOUN", "VERB", "ADP", "NOUN"), (1, 2, -1, 4, 2),
    ("det", "nsubj", "root", "case", "obl"),
)  # fmt: skip


@pytest.fixture
def pairs():
    return es.interdependence(random_model(), WORDS)


def parsed(svg):
    return ElementTree.fromstring(svg)


@given(st.integers(2, 8), st.integers(0, 40), st.integers(0, 99))
def test_the_strongest_come_first_and_undefined_ones_never(size, most, seed):
    rng = np.random.default_rng(seed)
    values = rng.random((size, size))
    values[rng.random((size, size)) < 0.2] = np.nan
    found = strongest(values, most)
    upper = [values[l, r] for l in range(size) for r in range(l + 1, size)]
    wanted = sorted((v for v in upper if not np.isnan(v)), reverse=True)[:most]
    assert [values[pair] for pair in found] == wanted
    assert all(left < right for left, right in found)


def test_arcs_are_ranked_titled_and_shown_as_asked(pairs):
    drawn = [e for e in parsed(arcs(pairs, most=9, shown=3)).iter() if e.get("class") == "pair"]
    assert len(drawn) == 10
    shown = [arc for arc in drawn if "none" not in arc.get("style", "")]
    assert [int(arc.get("data-rank")) for arc in shown] == [0, 1, 2]
    for arc in drawn:
        left, right = int(arc.get("data-left")), int(arc.get("data-right"))
        assert arc[0].text == f"{WORDS[left]} {WORDS[right]}: {pairs.values[left, right]:.4f}"


def test_a_parse_is_drawn_below(pairs):
    plain, both = (arcs(one, most=9, shown=4) for one in (pairs, pairs.beside(PARSE)))
    assert "edge" not in plain
    edges = [e for e in parsed(both).iter() if e.get("class") == "edge"]
    assert [edge[0].text for edge in edges] == [
        "<b> → the: det", "sat → <b>: nsubj", "mat → on: case", "sat → mat: obl",
    ]  # fmt: skip
    relations = [e.text for e in parsed(both).iter() if e.get("class") == "relation"]
    assert relations == ["det", "nsubj", "case", "obl"]
    with pytest.raises(DataError, match="'s' has 5 words, the sentence 2"):
        es.interdependence(random_model(), "the cat").beside(PARSE)
    with pytest.raises(DataError, match="word 1 is 'cat', but '<b>' in 's'"):
        es.interdependence(random_model(), "the cat sat on mat").beside(PARSE)


def test_pages_have_a_control_and_notebooks_no_script(pairs):
    page, fragment = pairs.beside(PARSE).to_html(), pairs._repr_html_()
    assert page.count("<script>") == 1
    assert 'max="10" value="4"' in page
    assert "<script" not in fragment
    assert "<svg" in fragment
    assert not re.search(r"https?:|src=|href", page)
    alone = es.interdependence(random_model(), ["cat"])
    assert "<svg" not in alone.to_html() + alone._repr_html_()
