"""Words of a treebank that no vocabulary of words split at white space has."""

import numpy as np
import pytest

import espalier as es
from espalier.data import Parsed, Treebank
from espalier.errors import ModelError
from espalier.nets.lstm import Vocabulary
from espalier.syntax import describe_words, pair_scores, read_treebank
from treebanks import conllu

KNOWN = ("<unk>", "sleeps", "so")


def bank_of(*words):
    some = len(words)
    one = Parsed("1", words, ("X",) * some, (-1, *[0] * (some - 1)), ("dep",) * some)
    return Treebank.of([one], "one")


SPACED, OTHER = (bank_of(word, "so", last, "sleeps") for word, last in (
    ("New York", "really\u2028so"), ("Berlin", "truly")
))  # fmt: skip


def model(architecture="lstm"):
    return es.language_model(
        vocabulary_size=3, hidden=20, seed=1, words=KNOWN, architecture=architecture
    )


@pytest.mark.parametrize("make", [model, lambda: model("gru"), lambda: es.network(model("gru"))])
def test_words_with_white_space_are_unknown_like_others(make):
    lm = make()
    (mine, lost), (theirs, others) = (read_treebank(lm, bank) for bank in (SPACED, OTHER))
    np.testing.assert_array_equal(mine.hidden, theirs.hidden)
    np.testing.assert_array_equal(lost, others)
    assert describe_words(lm, SPACED, {"so": 3}).unknown.tolist() == [1, 0, 1, 0]
    assert es.interdependence(lm, SPACED[0]).words == SPACED[0].words


def test_an_lstm_reads_them_alone_together_and_by_places():
    lm = model()
    scores = [pair_scores(lm, bank).hidden for bank in (SPACED, OTHER)]
    np.testing.assert_array_equal(*scores)
    mine, theirs = (es.interdependence(lm, bank[0], a=[0], b=[2]) for bank in (SPACED, OTHER))
    assert float(mine) == float(theirs)
    assert es.decompose(lm, SPACED[0], focus=[0]).unknown_at == (0, 2)


def test_a_vocabulary_may_have_them_and_one_without_unknown_words_refuses_them():
    assert Vocabulary((*KNOWN, "New York")).encode_forms(["New York", "York"]).ids == (3, 0)
    with pytest.raises(ModelError, match="'New York' is not in the vocabulary, which has no <unk>"):
        Vocabulary(KNOWN[1:]).encode_forms(["New York"])
    with pytest.raises(ModelError, match="'New York' is empty or has white space in it"):
        Vocabulary(KNOWN).encode(["New York"])


def test_a_file_of_them_is_read_as_it_is(tmp_path):
    file = tmp_path / "spaced.conllu"
    file.write_text("".join(conllu(SPACED[0])), encoding="utf-8")
    assert es.treebank(file)[0].words == SPACED[0].words
    SPACED.save(tmp_path / "spaced.npz")
    assert es.treebank(tmp_path / "spaced.npz")[0].words == SPACED[0].words
