import sys
from itertools import chain, combinations
from math import factorial

import numpy as np
import pytest
import torch
from hypothesis import given, settings

import espalier as es
from espalier.decomposition import (
    InputHessian,
    Occlusion,
    ShapleyInteraction,
    interaction_baseline,
    read_method,
)
from espalier.errors import ConfigError
from lstm_models import models, random_model, sentences


def states(lm, tokens, scales):
    """The model's own states, with each word's embedding scaled."""
    inputs = lm.encoder(torch.tensor(tokens)) * torch.as_tensor(scales)[:, None]
    with torch.no_grad():
        return lm.rnn(inputs[None])[0][0].numpy()


def without(count, *places):
    return np.array([0.0 if place in places else 1.0 for place in range(count)])


@settings(max_examples=25)
@given(models(), sentences(2, 6))
def test_occlusion_by_its_definition(lm, tokens):
    found = interaction_baseline(lm, tokens, method=Occlusion())
    n = len(tokens)
    assert found.passes == 1 + n + n * (n - 1) // 2
    for l, r in combinations(range(n), 2):
        h, h_l, h_r, h_lr = (
            states(lm, tokens, without(n, *places))[r] for places in ((), (l,), (r,), (l, r))
        )
        wanted = np.linalg.norm(h - h_l - h_r + h_lr) / np.linalg.norm(h - h_lr)
        assert found.values[l, r] == pytest.approx(wanted, rel=1e-9)


@settings(max_examples=15)
@given(models(), sentences(2, 5))
def test_the_hessian_by_finite_differences(lm, tokens):
    found = interaction_baseline(lm, tokens, method=InputHessian())
    n, step = len(tokens), 1e-3
    for l, r in combinations(range(n), 2):
        moved = {
            (a, b): states(lm, tokens, 1 + step * (a * np.eye(n)[l] + b * np.eye(n)[r]))[r]
            for a in (-1, 0, 1)
            for b in (-1, 0, 1)
        }
        mixed = moved[1, 1] - moved[1, -1] - moved[-1, 1] + moved[-1, -1]
        mixed = mixed / (4 * step**2)
        slopes = (moved[1, 0] - moved[-1, 0] + moved[0, 1] - moved[0, -1]) / (2 * step)
        joint = np.linalg.norm(slopes + mixed)
        if joint > 1e-3:
            wanted = np.linalg.norm(mixed) / joint
            assert found.values[l, r] == pytest.approx(wanted, rel=1e-3, abs=1e-5)


def test_the_shapley_interaction_index_by_its_definition():
    lm, tokens = random_model(), [1, 2, 3, 4]
    found = interaction_baseline(lm, tokens, method=ShapleyInteraction())
    for r in range(1, 4):
        players = range(r + 1)
        whole = states(lm, tokens, without(4))[r]

        def worth(some, r=r, whole=whole):
            absent = [place for place in range(r + 1) if place not in some]
            return states(lm, tokens, without(4, *absent))[r] @ whole / np.linalg.norm(whole)

        span = abs(worth(players) - worth(()))
        for l in range(r):
            rest = [place for place in players if place not in (l, r)]
            sets = chain.from_iterable(combinations(rest, k) for k in range(len(rest) + 1))
            index = sum(
                factorial(len(s)) * factorial(r - 1 - len(s)) / factorial(r)
                * (worth((*s, l, r)) - worth((*s, l)) - worth((*s, r)) + worth(s))
                for s in sets
            )  # fmt: skip
            assert found.values[l, r] == pytest.approx(abs(index) / span, rel=1e-8)


def test_an_estimate_keeps_to_its_budget_and_its_seed():
    pytest.importorskip("shapiq", reason="the baselines extra is not installed")
    lm, tokens = random_model(), [1, 2, 3, 4, 5, 6, 7]
    one, two = (
        interaction_baseline(lm, tokens, method=ShapleyInteraction(budget=40)) for _ in range(2)
    )
    np.testing.assert_array_equal(one.values, two.values)
    assert one.passes <= 6 * (40 + 3)
    exact = interaction_baseline(lm, tokens, method=ShapleyInteraction())
    assert exact.passes > one.passes


METHODS = [Occlusion(), InputHessian(), ShapleyInteraction()]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_what_is_held_at_once_changes_nothing(method, monkeypatch):
    lm, tokens = random_model(layers=2), [1, 2, 3, 4, 5]
    wanted = interaction_baseline(lm, tokens, method=method)
    monkeypatch.setattr(sys.modules["espalier.decomposition.decompose"], "AT_ONCE", 1000)
    found = interaction_baseline(lm, tokens, method=method)
    np.testing.assert_allclose(found.values, wanted.values, rtol=1e-12)
    assert found.passes == wanted.passes


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_one_word_has_no_pairs(method):
    found = interaction_baseline(random_model(), [1], method=method)
    assert found.values.shape == (1, 1)
    assert np.isnan(found.values).all()
    assert found.undefined == 0


@pytest.mark.parametrize("method", [Occlusion(), InputHessian()])
def test_they_share_the_interface_of_interdependence(method):
    lm = random_model(layers=2)
    found = interaction_baseline(lm, "the zebra sat", method=method, space="logits")
    pairs = es.interdependence(lm, "the zebra sat", space="logits")
    assert found.words == pairs.words
    assert found.unknown == pairs.unknown == 1
    assert list(found.to_frame().columns) == list(pairs.to_frame().columns)
    assert found.method in str(found)
    assert pairs.passes < found.passes


def test_refusals_name_the_culprit(monkeypatch):
    with pytest.raises(ConfigError, match="budget is 3"):
        ShapleyInteraction(budget=3)
    with pytest.raises(ConfigError, match=r"method is 'occlusion'; give Occlusion\(\)"):
        interaction_baseline(random_model(), [1, 2], method="occlusion")
    monkeypatch.setitem(sys.modules, "shapiq", None)
    with pytest.raises(ConfigError, match=r"espalier\[baselines\]"):
        interaction_baseline(random_model(), [1] * 6, method=ShapleyInteraction(budget=16))


@pytest.mark.parametrize("architecture", ["lstm", "transformer"])
@pytest.mark.parametrize(
    "method",
    [
        "occlusion",
        "interaction-index",
        "conditional-pmi",
        "perturbed-masking",
        "shapley",
        None,
    ],
)
def test_a_sentence_of_one_word_has_no_pair(architecture, method):
    lm = (
        es.language_model(vocabulary_size=5, hidden=4, architecture=architecture, heads=2)
        if (architecture == "transformer")
        else random_model()
    )
    method = read_method(method)
    found = es.interdependence(lm, [2], method=method)
    assert np.isnan(found.values).all()
    assert found.values.shape == (1, 1)
    many = es.interdependence(lm, [[2], [1, 2], [3]], method=method)
    assert [one.values.shape[0] for one in many] == [1, 2, 1]
    assert np.isfinite(many[1].values[0, 1])
