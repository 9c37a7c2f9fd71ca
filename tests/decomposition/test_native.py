import shutil

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import espalier as es
from espalier.decomposition import corpus, engine, native
from espalier.decomposition.engine import Budget, Engine
from lstm_models import random_model, sentences

compiled = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler here")


@compiled
@settings(max_examples=30)
@given(
    st.integers(0, 2**31),
    st.integers(1, 3),
    st.sampled_from([1, 3, 8, 17, 22]),
    st.sampled_from([0.5, 2.0, 20.0]),
    st.lists(sentences(most=8), min_size=1, max_size=5),
)
def test_the_compiled_step_is_the_plain_one(seed, layers, hidden, scale, some):
    lm = random_model(seed, layers=layers, hidden=hidden, scale=scale, dtype=torch.float32)
    some = sorted(some, key=len, reverse=True)
    plain, quick = Engine(lm), Engine(lm)
    quick.native = native.build()
    assert quick.native is not None
    quick.budget = Budget(30, 7)
    for one, two in zip(plain.pairs(some), quick.pairs(some), strict=True):
        l, r = np.triu_indices(len(one), 1)
        one, two = one.numpy()[l, r], two.numpy()[l, r]
        # A large DI has a joint contribution that all but cancels: rounding weighs more in it.
        np.testing.assert_array_less(np.abs(one - two), 2e-4 * (1 + one) ** 2)


@compiled
def test_large_corpora_use_it_and_say_the_same(monkeypatch):
    monkeypatch.setattr(corpus, "NATIVE_FROM", 50)
    lm = random_model(dtype=torch.float32)
    some = [[1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5]] * 2 + [[3, 1, 2]]
    used = []
    through = native.Native.through
    monkeypatch.setattr(
        native.Native, "through", lambda *a, **k: used.append(1) or through(*a, **k)
    )
    found = np.concatenate([block.value for block in es.interdependence_corpus(lm, some)])
    assert used
    monkeypatch.setattr(corpus, "trusted", lambda _: None)
    plain = np.concatenate([block.value for block in es.interdependence_corpus(lm, some)])
    np.testing.assert_allclose(found, plain, rtol=1e-3, atol=1e-5)


def test_it_is_for_single_precision_on_a_cpu():
    assert engine.trusted(random_model(dtype=torch.float64)) is None


@pytest.mark.parametrize(
    "variable", [("ESPALIER_NATIVE", "0"), ("CC", "no-such-compiler"), ("CC", "false")]
)
def test_without_a_compiler_there_is_none(monkeypatch, variable):
    monkeypatch.setenv(*variable)
    assert native.build.__wrapped__() is None


def test_one_that_disagrees_is_dropped(monkeypatch):
    class Wrong:
        multiplies = False

        def share(self, ready, past, given, *, own, state):
            return native.Packed(given.new_full((len(given), 21 * ready.units), 0.5), ready.units)

        def through(self, some, gates, now, *, state, **rest):
            state.hidden.fill_(0.5)
            state.squared.fill_(0.5)

    monkeypatch.setattr(engine, "build", Wrong)
    assert engine._agreeing.__wrapped__() is None


@pytest.mark.skipif(not getattr(native.build(), "multiplies", False), reason="no product here")
@pytest.mark.parametrize("sum_of", ["add_powers", "add_squares"])
def test_one_whose_sums_disagree_is_dropped(monkeypatch, sum_of):
    monkeypatch.setattr(native.Native, sum_of, lambda self, sums, *rest, **more: sums.fill_(1.0))
    assert engine._agreeing.__wrapped__() is None
