import shutil

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from espalier.decomposition import factor
from espalier.decomposition.factor import NOTHING, Factor, Triangle
from espalier.decomposition.native import build

ways = st.sampled_from([build, lambda: None] if shutil.which("cc") else [lambda: None])
sizes = (st.integers(0, 2**31), st.integers(1, 400), st.integers(1, 41), st.integers(1, 40))


def draw(seed, count, depth, width):
    """Rows that lie apart, as those of a triangle do, and a matrix."""
    torch.manual_seed(seed)
    return torch.randn(count, depth + 3)[:, 3:], torch.randn(depth, width)


@settings(max_examples=60)
@given(ways, *sizes)
def test_a_product_is_the_plain_one(native, seed, count, depth, width):
    rows, matrix = draw(seed, count, depth, width)
    one = Factor(matrix, native())
    out = torch.full((factor.room(count), one.width), torch.nan)
    one.times(rows, out=out, scratch=torch.empty(factor.TALL * depth))
    wanted = rows.double() @ matrix.double()
    np.testing.assert_allclose(out[:count, :width].double(), wanted, atol=3e-6 * (1 + depth))


@settings(max_examples=60)
@given(ways, *sizes)
def test_sums_of_powers_are_those_of_the_product(native, seed, count, depth, width):
    rows, matrix = draw(seed, count, depth, width)
    bias, before = torch.randn(width), torch.rand(count)
    one, sums = Factor(matrix, native()), before.clone()
    padded = functional.pad(bias, (0, one.width - width), value=NOTHING)
    one.add_powers(sums, rows, bias=padded, held=torch.full((one.held(count),), torch.nan))
    logits = rows.double() @ matrix.double() + bias
    wanted = before + logits.exp2().sum(dim=-1)
    np.testing.assert_allclose(sums.double(), wanted, rtol=3e-6 * (1 + depth))


@settings(max_examples=60)
@given(ways, *sizes[:2], st.integers(1, 130), st.sampled_from([16, 32, 112]))
def test_lengths_after_a_triangle_are_those_of_the_product(native, seed, count, depth, columns):
    rows, matrix = draw(seed, count, depth, depth)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(factor, "TRIANGLE_COLUMNS", columns)
        found = Triangle(matrix.tril(), native()).lengths(rows)
    wanted = torch.linalg.vector_norm(rows.double() @ matrix.tril().double(), dim=-1)
    np.testing.assert_allclose(found.double(), wanted, rtol=1e-5, atol=3e-6 * (1 + depth))


@pytest.mark.parametrize("native", [build, lambda: None])
@pytest.mark.parametrize(("bias", "wanted"), [(300.0, np.inf), (-300.0, 0.0)])
def test_what_no_sum_can_hold_is_far_outside_the_safe_ones(native, bias, wanted):
    one, sums = Factor(torch.zeros(2, 16), native()), torch.zeros(1)
    given = torch.full((one.width,), bias)
    one.add_powers(sums, torch.zeros(1, 2), bias=given, held=torch.empty(one.held(1)))
    assert sums > 1e38 if wanted else sums < 1e-30
