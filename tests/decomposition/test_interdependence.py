import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

import espalier as es
import lstm_reference as reference
from espalier.data import Parsed
from espalier.decomposition import interact_batch
from espalier.errors import ConfigError, DataError
from lstm_models import models, random_model, sentences


@st.composite
def two_sets(draw):
    """A sentence, two disjoint sets of its places, and a step after both."""
    tokens = draw(sentences(2, 7))
    order = draw(st.permutations(range(len(tokens))))
    first = draw(st.integers(1, len(tokens) - 1))
    second = draw(st.integers(first + 1, len(tokens)))
    a, b = order[:first], order[first:second]
    return tokens, a, b, draw(st.integers(max(a + b), len(tokens) - 1))


@given(models(), two_sets(), st.sampled_from(["hidden", "logits"]))
def test_any_two_sets_at_any_step_by_the_definition(lm, given_, space):
    tokens, a, b, at = given_
    found = es.interdependence(lm, tokens, a=a, b=b, at=at, space=space)
    layers, inputs = reference.weights_of(lm), reference.embed(lm, tokens)
    decoder = lm.decoder.weight.detach().numpy() if space == "logits" else None
    wanted = reference.interdependence(layers, inputs, a, b, at=at, decoder=decoder)
    assert float(found) == pytest.approx(wanted, rel=1e-9, abs=1e-12)
    assert found == es.interdependence(lm, tokens, a=b, b=a, at=at, space=space)
    ratio = found.interaction.norm() / found.joint.norm()
    assert float(found) == pytest.approx(float(ratio), rel=1e-9)


@given(models(), st.lists(two_sets(), min_size=1, max_size=4))
def test_a_batch_equals_its_members(lm, some):
    longest = max(len(tokens) for tokens, *_ in some)
    tokens = torch.tensor([[*t, *[0] * (longest - len(t))] for t, *_ in some])
    a, b = (torch.zeros(len(some), longest, dtype=torch.bool) for _ in range(2))
    for row, (_, first, second, _) in enumerate(some):
        a[row, first], b[row, second] = True, True
    at = torch.tensor([step for *_, step in some])
    found = interact_batch(lm, tokens, (a, b), at=at).ratios(lm)
    alone = [es.interdependence(lm, t, a=a, b=b, at=at) for t, a, b, at in some]
    assert_close(found, torch.tensor(alone, dtype=torch.float64), rtol=1e-9, atol=1e-12)


def test_the_step_is_the_later_of_the_two_by_default():
    lm = random_model()
    early = es.interdependence(lm, "the cat sat on mat", a=[0], b=[1, 3])
    assert early.at == 3
    assert early == es.interdependence(lm, "the cat sat on mat", a=[0], b=[1, 3], at=3)
    assert early != es.interdependence(lm, "the cat sat on mat", a=[0], b=[1, 3], at=4)
    assert "DI('the', 'cat on') = 0." in repr(early)


def test_nothing_contributed_together_is_undefined_and_counted():
    lm = random_model()
    with torch.no_grad():
        for name, weights in lm.named_parameters():
            if name.startswith("rnn."):
                weights.zero_()
    for space in ("hidden", "logits"):
        found = es.interdependence(lm, [1, 2, 3], a=[0], b=[1], space=space)
        assert math.isnan(found)
        assert found.undefined == 1
    assert es.interdependence(random_model(), [1, 2], a=[0], b=[1]).undefined == 0


def test_a_vector_whose_squares_vanish_has_a_length():
    lm = random_model(hidden=8, scale=0.6)
    tokens = np.random.default_rng(0).integers(8, size=120).tolist()
    double, single = (
        es.interdependence(lm.to(dtype), tokens, a=[0], b=[1], at=100)
        for dtype in (torch.float64, torch.float32)
    )
    assert 0 < single.joint.abs().max() < 1e-20
    assert single.undefined == 0
    assert float(single) == pytest.approx(float(double), rel=1e-3)


def test_the_decompositions_behind_a_number_come_with_it():
    found = es.interdependence(random_model(), "the zebra sat on", a=[0], b=[2])
    assert [parts.focus for parts in found.parts] == [(0,), (2,), (0, 2)]
    assert found.parts[0].words == ("the", "zebra", "sat")
    assert found.error == max(parts.error for parts in found.parts)
    assert 0 <= found.error < 1e-12


def test_unknown_words_are_counted():
    found = es.interdependence(random_model(), "the zebra sat", a=[0], b=[1])
    assert found.unknown == 1
    assert "1 unknown word: zebra" in repr(found)
    assert np.isclose(found, es.interdependence(random_model(), [1, 0, 3], a=[0], b=[1]))


def test_refusals_name_the_culprit():
    lm = random_model()
    with pytest.raises(DataError, match="a and b share word 1"):
        es.interdependence(lm, [1, 2, 3], a=[0, 1], b=[1, 2])
    with pytest.raises(DataError, match="b is empty"):
        es.interdependence(lm, [1, 2, 3], a=[0], b=[])
    with pytest.raises(DataError, match="a names word 7, which is outside"):
        es.interdependence(lm, [1, 2, 3], a=[7], b=[0])
    with pytest.raises(DataError, match="step 1 comes before word 2 is read"):
        es.interdependence(lm, [1, 2, 3], a=[0], b=[2], at=1)
    with pytest.raises(DataError, match="step 3 is outside the sentence"):
        es.interdependence(lm, [1, 2, 3], a=[0], b=[2], at=3)
    for at in ("2", 2.0, True):
        with pytest.raises(DataError, match=f"at is {at!r}; it must be the place of a word"):
            es.interdependence(lm, [1, 2, 3], a=[0], b=[1], at=at)
    with pytest.raises(DataError, match="at without a and b"):
        es.interdependence(lm, [1, 2, 3], at=1)
    with pytest.raises(DataError, match="b and at without a:"):
        es.interdependence(lm, [1, 2, 3], b=[0], at=1)
    with pytest.raises(ConfigError, match="no space 'logit'; did you mean 'logits'"):
        es.interdependence(lm, [1, 2, 3], a=[0], b=[2], space="logit")


def test_a_list_of_sentences_is_a_batch_and_a_treebanks_sentence_is_one():
    lm = random_model()
    both = es.interdependence(lm, ["the cat sat", "a zebra sat on"])
    assert [pairs.words for pairs in both] == [("the", "cat", "sat"), ("a", "zebra", "sat", "on")]
    assert both[1].unknown_words == ("a", "zebra")
    assert "2 unknown words: a, zebra" in str(both[1])
    np.testing.assert_array_equal(both[0].values, es.interdependence(lm, "the cat sat").values)
    sets = es.interdependence(lm, [["the", "cat"], [1, 2, 3]], a=[0], b=[1])
    assert [type(one).__name__ for one in sets] == ["Dependence"] * 2
    parsed = Parsed("s", ("the", "cat"), ("DET", "NOUN"), (1, -1), ("det", "root"))
    assert es.interdependence(lm, parsed).words == es.interdependence(lm, [parsed])[0].words
    parts = es.decompose(lm, ["the cat sat", "on the mat"], focus=[[0], [1, 2]])
    assert [one.focus for one in parts] == [(0,), (1, 2)]
    with pytest.raises(DataError, match="'the cat' is a sentence, but 'sat' next to it is a word"):
        es.interdependence(lm, ["the cat", "sat"])
