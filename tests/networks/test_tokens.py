"""Plain text is accepted; focus is words, places or characters."""

import pytest

import espalier as es
from any_networks import WORDS, module
from espalier.errors import DataError
from espalier.nets.lstm import Vocabulary
from espalier.networks import Tokens, WordTokenizer, read_focus


def test_punctuation_stands_apart_and_case_is_kept_as_the_vocabulary_has_it():
    cased, plain = (
        WordTokenizer(Vocabulary(tuple(WORDS))),
        WordTokenizer(Vocabulary(("<unk>", "the", "dog", "don't", "3.5"))),
    )
    read = cased.read("The dog chased the cat. It ran!")
    assert read.words == ("The", "dog", "chased", "the", "cat", ".", "It", "ran", "!")
    assert read.unknown_at == (8,)
    assert read.spans[1] == (4, 7)
    assert plain.read("The Dog don't 3.5").words == ("the", "dog", "don't", "3.5")


def test_focus_is_words_places_or_characters():
    net = es.network(module("gru"), tokenizer=WORDS)
    text = "The dog chased the cat."
    for focus in ("dog", ["dog"], [1], [(4, 7)], (1,)):
        assert es.decompose(net, text, focus=focus).focus == (1,)
    assert es.decompose(net, text, focus=["dog", 4, (8, 18)]).focus == (1, 2, 3, 4)
    both = es.decompose(net, [text, "It ran ."], focus=["."])
    assert [parts.focus for parts in both] == [(5,), (2,)]
    with pytest.raises(DataError, match="focus names 'zebra', which is not in 'The dog"):
        es.decompose(net, text, focus=["zebra"])
    with pytest.raises(DataError, match="characters"):
        es.decompose(net, [1, 2], focus=[(0, 2)])
    with pytest.raises(DataError, match="focus names token 9"):
        es.decompose(net, text, focus=[9])
    pairs = es.interdependence(net, ["The dog ran.", "A zebra ran ."])
    assert pairs[1].unknown_words == ("A", "zebra")


class Pieces:
    """A tokenizer of letters, as others have encode and decode."""

    def encode(self, text):
        return [ord(letter) % 10 for letter in text if letter != " "]

    def decode(self, ids):
        return "".join(chr(48 + number) for number in ids)


def test_any_tokenizer_with_encode_and_decode():
    net = es.network(module("gru"), tokenizer=Pieces())
    assert es.decompose(net, "the dog", focus=[0]).words == tuple(
        Pieces().decode(Pieces().encode("the dog"))
    )
    assert len(es.interdependence(net, "the dog").words) == 6
    with pytest.raises(DataError, match="without encode and decode"):
        es.network(module("gru"), tokenizer=object())


def test_tokenizers_of_the_library_have_pieces_and_spans():
    tokenizers = pytest.importorskip("tokenizers")
    pieces = {"[UNK]": 0, "the": 1, "dog": 2, "##s": 3, "ran": 4}
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(pieces, unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    net = es.network(module("bert"), tokenizer=made)
    parts = es.decompose(net, "the dogs ran", focus=["dogs"])
    assert parts.focus == (1, 2)
    assert parts.error < 1e-5


def test_words_are_found_in_what_was_given_as_a_list():
    assert read_focus(Tokens((1, 2), ("a", "b")), ["b"]) == (1,)
