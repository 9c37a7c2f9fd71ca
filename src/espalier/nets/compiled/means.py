"""Means of numbers without rounding errors: sum what is selected, then divide by the count.

A selected position has a weight of exactly 1 here and others exactly 0, so the sums are sums of
whole multiples of a power of two, which floats add exactly. One division follows, rounded as IEEE
754 says, or a long division, which is not rounded at all but at its end.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from espalier.nets.compiled.weights import MeanWeights


def unnormalised_softmax(
    logits: Float[Tensor, "*batch M"], sink: float | Tensor
) -> Float[Tensor, "*batch M"]:
    """exp(logit - the largest), and 0 everywhere where the sink's logit is larger still."""
    top = logits.amax(-1, keepdim=True)
    return (logits - torch.where(top > sink, top, torch.inf)).exp()


def normalise(
    sums: Float[Tensor, "*batch W"], weights: Float[Tensor, "*batch M"]
) -> Float[Tensor, "*batch W"]:
    """The sums over the sum of the weights, where that is not 0."""
    total = weights.sum(-1, keepdim=True)
    return sums / torch.where(total > 0, total, 1.0)


def divide(sums: Float[Tensor, "*batch W"], mean: MeanWeights) -> Float[Tensor, "*batch W"]:
    """The mean of each part, and 1, where the count, the last of `sums`, is not 0; else zeros."""
    wide = sums.double()
    total, count = wide[..., :-1], wide[..., -1:]
    counted = torch.where(count > 0, count, 1.0)
    if mean.base is None:
        quotient = total / counted
    else:
        quotient = _LongDivision.apply(total, counted, mean.base)
    return torch.cat([quotient, count / counted], -1)


class _LongDivision(torch.autograd.Function):
    """Digits divided by a number, as numbers on paper are; gradients are those of a quotient."""

    generate_vmap_rule = True

    @staticmethod
    def forward(total: Tensor, count: Tensor, base: float) -> Tensor:
        rest, digits = torch.zeros_like(count), []
        for place in range(total.shape[-1]):
            rest = rest * base + total[..., place : place + 1]
            # Below 2**52 a rounded quotient is never rounded up to the next whole number.
            digits.append((rest / count).floor())
            rest = rest - digits[-1] * count
        digits[-1] = digits[-1] + (rest > 0)
        for place in range(len(digits) - 1, 0, -1):
            carried = (digits[place] / base).floor()
            digits[place] = digits[place] - carried * base
            digits[place - 1] = digits[place - 1] + carried
        return torch.cat(digits, -1)

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        total, count, _ = inputs
        ctx.save_for_backward(total, count)

    @staticmethod
    def backward(ctx, slope):  # type: ignore[no-untyped-def]
        total, count = ctx.saved_tensors
        return slope / count, -(slope * total).sum(-1, keepdim=True) / count**2, None
