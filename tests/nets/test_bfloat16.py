"""Products in bfloat16 on CPUs that have none are float32's, rounded once; nothing else changes."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from espalier.nets import bfloat16, bfloat16_products
from espalier.nets.bfloat16 import RoundedProducts

CPU = torch.device("cpu")


def matrices(sizes, seed, dtype=torch.bfloat16):
    dice = torch.Generator().manual_seed(seed)
    return [torch.randn(size, generator=dice).to(dtype) for size in sizes]


@given(st.integers(1, 4), st.integers(1, 9), st.integers(1, 40), st.integers(1, 9), st.integers(0))
def test_every_kind_of_product_is_float32s_rounded(e, m, k, n, seed):
    seed %= 1 << 62
    a, b, c, v = matrices([(e, m, k), (e, k, n), (e, m, n), (n,)], seed)
    with RoundedProducts():
        found = [
            a @ b,
            a[0] @ b[0],
            torch.baddbmm(c, a, b, beta=0.5, alpha=2),
            torch.addmm(v, a[0], b[0]),
            torch.einsum("emk,ekn->enm", a, b),
        ]
    long = a.float() @ b.float()
    wanted = [
        long,
        a[0].float() @ b[0].float(),
        torch.baddbmm(c.float(), a.float(), b.float(), beta=0.5, alpha=2),
        torch.addmm(v.float(), a[0].float(), b[0].float()),
        long.mT,
    ]
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == torch.bfloat16
        # The sum may be in another order, so that a number half-way may be rounded either way.
        torch.testing.assert_close(one, other.bfloat16(), rtol=2**-7, atol=1e-6)


def test_gradients_are_products_too_and_float32_is_left_alone():
    a, b = (one.requires_grad_() for one in matrices([(3, 5), (5, 2)], 0))
    x, y = matrices([(3, 5), (5, 2)], 1, torch.float32)
    seen = []

    class Watched(RoundedProducts):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            found = super().__torch_dispatch__(func, types, args, kwargs)
            if "mm" in str(func):
                seen.append(found.dtype)
            return found

    with Watched():
        of_a, of_b = torch.autograd.grad((a @ b).float().sum(), [a, b])
        assert torch.equal(x @ y, torch.mm(x, y))
    assert seen == [torch.bfloat16] * 3 + [torch.float32] * 2
    ones = torch.ones(3, 2)
    assert torch.equal(of_a, (ones @ b.detach().float().mT).bfloat16())
    assert torch.equal(of_b, (a.detach().float().mT @ ones).bfloat16())


@pytest.mark.parametrize("own", [True, False])
def test_only_where_the_processor_has_no_such_products(own, monkeypatch):
    monkeypatch.setattr(bfloat16, "has_bfloat16_products", lambda: own)
    assert isinstance(bfloat16_products(CPU), RoundedProducts) is not own
    assert not isinstance(bfloat16_products(torch.device("cuda")), RoundedProducts)
