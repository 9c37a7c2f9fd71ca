"""Odd text: there is always a result, or one of our own errors."""

from contextlib import suppress
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import espalier as es
from any_networks import WORDS, gpt2_folder, module
from espalier.errors import DataError, EspalierError
from lstm_models import random_model

ODD = """
a|.|...|?!|the 🐶 chased the 🐱 .|👩‍👩‍👧 family|中文 句子|שלום עולם|مرحبا|नमस्ते
<unk>|<unk> <unk>|<eos>|[UNK] [MASK]|<|endoftext|>
<b>bold</b> & 'quoted'|don't|U.S.A. vs. U.K.|3.14 1,000 1/2 50%
e-mail@example.com|https://example.com/?q=1&r=2|C:\\dir\\file|a  b   c| leading
UPPER MiXeD|#hashtag @name|()[]{}|%s {} {0}|None|nan|0|-1|1e400|--
""".replace("\n", "|").split("|")
ODD += [
    "", " ", "trailing ", "\n", "\t \r\n", "\u00a0", "\u200b", "\ufeff", "\0", "\x07 bell",
    "e\u0301te\u0301",
    "\u0130stanbul", "\u202eright to left", "\ud83d", "can\u2019t", "\u2013 \u2014", "\"'`",
    "line\nbreak", "the\u2028dog", "\uff41\uff42", "z" + "\u0300" * 50, "a" * 300, "the " * 40,
]  # fmt: skip
TEXT = st.text(max_size=25) | st.lists(
    st.sampled_from([*WORDS, *(one for one in ODD if len(one) < 30)]), max_size=8
).map(" ".join)


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory):
    return es.load(gpt2_folder(tmp_path_factory.mktemp("odd") / "gpt2"))


@cache
def words(kind):
    return random_model() if kind == "lstm" else es.network(module(kind), tokenizer=WORDS)


def try_all(net, text):
    """Pairs, parts and what they look like; only our own errors."""
    try:
        found = [es.interdependence(net, text), es.decompose(net, text, focus=[0])]
        focused = found[0].words[-1]
        assert es.decompose(net, text, focus=focused).focus
    except EspalierError:
        return
    for result in found:
        assert str(result)
        assert len(result.words) > 12 or result._repr_html_()
    places = {place for place, word in enumerate(found[0].words) if word == focused}
    assert set(es.decompose(net, text, focus=focused).focus) >= places


@pytest.mark.parametrize("kind", ["lstm", "gru", "gpt2"])
def test_odd_sentences(kind, request):
    net = request.getfixturevalue("gpt2") if kind == "gpt2" else words(kind)
    few = [text for text in ODD if len(text) < 20][::3]  # letters may be tokens of several bytes
    for text in few if kind == "gpt2" else ODD:
        try_all(net, text)


@settings(max_examples=20, deadline=None)
@given(text=TEXT, number=st.integers(0, 1))
def test_any_sentence_in_words(text, number):
    try_all(words(["lstm", "gru"][number]), text)


@settings(max_examples=10, deadline=None)
@given(text=TEXT)
def test_any_sentence_in_pieces(gpt2, text):
    try_all(gpt2, text)


@settings(max_examples=20, deadline=None)
@given(st.lists(TEXT, max_size=3), st.integers(-3, 40), st.integers(-3, 40))
def test_batches_and_spans(texts, start, stop):
    for call in (
        lambda: es.interdependence(words("gru"), texts),
        lambda: es.decompose(words("gru"), texts, focus=[(start, stop)]),
    ):
        with suppress(EspalierError):
            call()


def test_half_of_a_character_is_refused():
    for net in (words("lstm"), words("gru")):
        for text in ("the \ud83d", ["the", "\ud83d"]):
            with pytest.raises(DataError, match=r"'\\ud83d', character \d of the text, is half"):
                es.interdependence(net, text)
