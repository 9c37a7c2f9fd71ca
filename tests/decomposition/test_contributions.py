import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

import espalier as es
import lstm_reference as reference
from espalier.decomposition.contributions import as_printed, bias_first
from lstm_models import random_model

NONLINEARITIES = [torch.sigmoid, torch.tanh]


def numbers(most=30.0):
    return st.floats(-most, most).map(lambda x: torch.tensor(x, dtype=torch.float64))


@given(st.sampled_from(NONLINEARITIES), numbers(), numbers(), numbers())
def test_contributions_are_the_average_over_both_orders_and_sum(s, a, b, c):
    found = bias_first(s, a, b, c)
    alone, last = s(a + c) - s(c), s(a + b + c) - s(b + c)
    assert_close(found.relevant, (alone + last) / 2, rtol=0, atol=2e-15)
    assert_close(found.relevant + found.irrelevant + found.bias, found.whole, rtol=0, atol=2e-15)
    assert found.whole == s(a + b + c)
    other = bias_first(s, b, a, c)
    assert_close(other.relevant, found.irrelevant, rtol=0, atol=2e-15)


@given(st.sampled_from(NONLINEARITIES), st.floats(1e-300, 1e-12), numbers(5.0), numbers(5.0))
def test_a_contribution_too_small_for_a_difference_is_the_slope(s, size, b, c):
    b, c = (part.clone().requires_grad_() for part in (b, c))
    slopes = [torch.autograd.grad(s(x), c)[0] for x in (c, b + c)]
    found = bias_first(s, torch.tensor(size, dtype=torch.float64), b.detach(), c.detach())
    wanted = size * float(sum(slopes)) / 2
    assert float(found.relevant) == pytest.approx(wanted, rel=1e-9, abs=0)


@given(st.sampled_from(NONLINEARITIES), numbers(), numbers(), numbers())
def test_as_printed_every_summand_contributes_the_same(s, a, b, c):
    found = as_printed(s, a, b, c)
    same = (s(a + b + c) - s(torch.zeros_like(c))) / 2
    for part in found[:3]:
        assert_close(part, same, rtol=0, atol=2e-15)
    assert_close(found.whole, 3 * same, rtol=0, atol=1e-14)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_a_word_gave_keeps_its_digits_as_it_fades(dtype):
    """After 40 steps 1e-10 of it is left, far below the digits of the state in float32."""
    lm = random_model(hidden=8, scale=0.6)
    tokens = np.random.default_rng(0).integers(8, size=41).tolist()
    wanted = reference.decompose(
        [tuple(part.astype(np.longdouble) for part in layer) for layer in reference.weights_of(lm)],
        reference.embed(lm, tokens).astype(np.longdouble),
        [0],
    )[0][-1].astype(float)
    assert 0 < np.abs(wanted).max() < 1e-9
    found = es.decompose(lm.to(dtype), tokens, focus=[0]).relevant[-1].double().numpy()
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-4 * np.abs(wanted).max())
