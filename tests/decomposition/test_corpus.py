import numpy as np
import pandas as pd
import pytest
import torch

import espalier as es
from espalier.decomposition import corpus, interdependence_corpus
from espalier.errors import ConfigError, DataError, ModelError
from lstm_models import random_model


@pytest.fixture
def sentences():
    rng = np.random.default_rng(0)
    made = [rng.integers(8, size=n).tolist() for n in rng.integers(1, 12, size=40)]
    return [*made, [3], made[4], made[4]]


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("most", [1, 150, 10**6])
def test_a_corpus_is_its_sentences_in_order(monkeypatch, sentences, workers, most):
    monkeypatch.setattr(corpus, "PAIRS_AT_ONCE", most)
    lm, threads = random_model(layers=2), torch.get_num_threads()
    blocks = list(interdependence_corpus(lm, sentences, workers=workers, memory=200_000))
    assert torch.get_num_threads() == threads
    assert sum(len(block.lengths) for block in blocks) == len(sentences)
    frame = pd.concat(block.to_frame() for block in blocks)
    assert (np.diff(frame["sentence"]) >= 0).all()
    for number, tokens in enumerate(sentences):
        own = frame[frame["sentence"] == number]
        wanted = es.interdependence(lm, tokens).to_frame()
        np.testing.assert_array_equal(own["left"], wanted["left"])
        np.testing.assert_array_equal(own["right"], wanted["right"])
        np.testing.assert_allclose(own["value"], wanted["value"], rtol=1e-10, atol=1e-12)


def test_it_streams(monkeypatch, sentences):
    monkeypatch.setattr(corpus, "PAIRS_AT_ONCE", 30)
    taken = []
    given = (taken.append(n) or tokens for n, tokens in enumerate(sentences))
    stream = interdependence_corpus(random_model(), given, workers=2)
    assert not taken
    next(stream)
    assert len(taken) < 30
    stream.close()


def test_words_unknown_ones_and_undefined_pairs_are_counted():
    lm = random_model()
    (block,) = interdependence_corpus(lm, ["the zebra sat", ["a", "cat"], [1, 2]])
    assert block.unknown == 2
    assert block.undefined == 0
    assert len(block) == 5
    assert "5 pairs of sentences 0 to 2" in repr(block)
    with torch.no_grad():
        lm.rnn.weight_ih_l0.zero_(), lm.rnn.bias_ih_l0.zero_(), lm.rnn.bias_hh_l0.zero_()
    (block,) = interdependence_corpus(lm, [[1, 2, 3]])
    assert block.undefined == 3
    assert "3 undefined" in repr(block)


def test_logits_and_nothing_at_all():
    lm = random_model()
    (block,) = interdependence_corpus(lm, [[1, 2, 3]], space="logits")
    wanted = es.interdependence(lm, [1, 2, 3], space="logits").values
    np.testing.assert_allclose(block.value, wanted[np.triu_indices(3, 1)], rtol=1e-10)
    assert list(interdependence_corpus(lm, [])) == []


def test_refusals_name_the_culprit():
    lm = random_model()
    with pytest.raises(DataError, match="sentence 1 is empty"):
        list(interdependence_corpus(lm, [[1], []]))
    with pytest.raises(ModelError, match="token 8 is outside"):
        list(interdependence_corpus(lm, [[8]]))
    with pytest.raises(ConfigError, match="workers is 0"):
        interdependence_corpus(lm, [], workers=0)
    with pytest.raises(ModelError, match="Linear cannot be decomposed"):
        interdependence_corpus(torch.nn.Linear(1, 1), [])
    plain = es.language_model(vocabulary_size=8, hidden=3)
    with pytest.raises(ModelError, match="token 9 is outside"):
        list(interdependence_corpus(plain, [[1, 9]]))
    with pytest.raises(ModelError, match="saved without its words"):
        list(interdependence_corpus(plain, ["the cat"]))
