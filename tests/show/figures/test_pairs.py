import numpy as np
import pytest
import torch

import espalier as es
from espalier.files import write_figure
from espalier.show.figures import draw_pairs, draw_parts
from lstm_models import random_model


def test_every_pair_has_its_number_and_every_word_its_label():
    pairs = es.interdependence(random_model(), "the cat sat on the mat")
    panel = pairs.plot().axes[0]
    shown = np.asarray(panel.images[0].get_array().filled(np.nan))
    np.testing.assert_array_equal(shown, pairs.values)
    assert len(panel.texts) == 15
    assert [tick.get_text() for tick in panel.get_yticklabels()] == list(pairs.words)


def test_undefined_pairs_are_hatched():
    lm = random_model()
    with torch.no_grad():
        lm.rnn.weight_ih_l0.zero_(), lm.rnn.bias_ih_l0.zero_(), lm.rnn.bias_hh_l0.zero_()
    panel = draw_pairs(es.interdependence(lm, [1, 2, 3])).axes[0]
    assert len(panel.patches) == 3
    assert not panel.texts


@pytest.mark.parametrize("tokens", ["the", " ".join(["cat", "on"] * 40), ["$x$", "the", "$"]])
@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_sentences_of_any_length_and_any_words_are_drawn(tmp_path, tokens, suffix):
    pairs = es.interdependence(random_model(), tokens)
    write_figure(tmp_path / f"pairs.{suffix}", draw_pairs(pairs))
    assert (tmp_path / f"pairs.{suffix}").stat().st_size > 500


def test_parts_are_drawn_along_the_sentence():
    parts = es.decompose(random_model(), "the cat sat on the mat", focus=[1, 4])
    panel = draw_parts(parts).axes[0]
    lines = {line.get_label(): line.get_ydata() for line in panel.lines}
    np.testing.assert_allclose(lines["relevant"], parts.relevant.norm(dim=-1))
    np.testing.assert_allclose(lines["irrelevant"], parts.irrelevant.norm(dim=-1))
    assert len(panel.patches) == 2
