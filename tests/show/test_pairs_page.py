import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import espalier as es
from espalier.errors import FileError
from lstm_models import random_model

READERS = {"csv": pd.read_csv, "parquet": pd.read_parquet, "json": pd.read_json}


@pytest.fixture
def pairs():
    return es.interdependence(random_model(), "the <b> sat on the mat")


@pytest.fixture
def parts():
    return es.decompose(random_model(), "the <b> sat", focus=[1])


def test_a_matrix_shows_every_pair_in_hundredths(pairs):
    lines = str(pairs).splitlines()
    assert "15 pairs, hidden, 1 unknown word: <b>)" in lines[0]
    for left, line in enumerate(lines[3:9]):
        shown = re.search(rf" {left}  (.*)$", line + " ").group(1).split()
        wanted = pairs.values[left, left + 1 :]
        assert len(shown) == len(wanted)
        for text, value in zip(shown, wanted, strict=True):
            assert text == "**" if value >= 0.995 else abs(int(text) - 100 * value) <= 0.5
    assert repr(pairs) == str(pairs)


def test_long_sentences_are_cut_in_the_terminal_and_in_a_notebook_but_not_in_a_page():
    pairs = es.interdependence(random_model(), ["cat"] * 70)
    assert "... and 30 more words" in str(pairs)
    assert "the first 60 of 70 words" in pairs._repr_html_()
    assert pairs.to_html().count("<tr>") == 71


@pytest.mark.parametrize("suffix", READERS)
def test_tables_come_back_as_they_were(tmp_path, pairs, parts, suffix):
    for result in (pairs, parts):
        result.save(tmp_path / f"table.{suffix}")
        back = READERS[suffix](tmp_path / f"table.{suffix}")
        pd.testing.assert_frame_equal(
            back, result.to_frame(), check_dtype=False, check_exact=False, rtol=1e-8
        )


def test_the_frame_holds_every_pair(pairs):
    frame = pairs.to_frame()
    assert len(frame) == 15
    row = frame[(frame["left"] == 1) & (frame["right"] == 4)].iloc[0]
    assert row["value"] == pairs.values[1, 4]
    assert (row["left_word"], row["right_word"], row["distance"]) == ("<b>", "the", 3)


def test_pages_need_nothing_from_outside_and_escape_words(tmp_path, pairs, parts):
    for result in (pairs, parts):
        result.save(tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text()
        HTMLParser().feed(page)
        assert page.startswith("<!doctype html>")
        assert "&lt;b&gt;" in page
        assert "<b>" not in page
        assert not re.search(r"(src|href|url\()\s*=?", page)


def test_figures_are_written_by_suffix(tmp_path, pairs, parts):
    for result in (pairs, parts):
        result.save(tmp_path / "figure.png")
        assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
        with pytest.raises(FileError, match=r"'\.doc'.*use one of \.html.*\.png.*\.csv"):
            result.save(tmp_path / "figure.doc")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["figure.png"]


def test_parts_show_their_focus_sizes_and_error(parts):
    text = str(parts)
    assert "focus: <b>" in text
    assert "1 unknown" in text
    assert "e-1" in text.splitlines()[0]
    assert f"{float(parts.relevant[2].norm()):.4f}" in text
    frame = parts.to_frame()
    assert frame["in_focus"].tolist() == [False, True, False]
    np.testing.assert_allclose(frame["relevant"], parts.relevant.norm(dim=-1))


def test_pages_say_whose_numbers_they_are_and_what_they_mean(pairs, parts):
    page = pairs.to_html()
    assert '<h1>the <s title="read as unknown">&lt;b&gt;</s> sat on the mat</h1>' in page
    assert "LSTM language model, 1 layer of" in page
    assert "is not the sum of what each contributes alone" in page
    assert 'class="legend">DI: 0' in page
    assert 'class="word unknown" data-word="1"' in page
    of_parts = parts.to_html()
    assert "relevant, norm" in of_parts
    assert "norms, which do not add up" in of_parts
    for snippet in (pairs._repr_html_(), parts._repr_html_()):
        assert 'class="legend"' in snippet
        assert 'class="scroll"' in snippet
