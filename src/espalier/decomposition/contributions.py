"""What each summand of s(A + B + C) contributes, for a nonlinearity s and the bias C.

A is relevant, B irrelevant. Everything is elementwise and of any shape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

Nonlinearity = Callable[[Tensor], Tensor]  # torch.sigmoid or torch.tanh


class Split(NamedTuple):
    """A quantity in three parts, and what they sum to.

    The whole is stored where it is known: of a gate that is almost closed, computed as a sum of
    parts, rounding would leave nothing.
    """

    relevant: Tensor
    irrelevant: Tensor
    bias: Tensor
    whole: Tensor

    @classmethod
    def without_bias(cls, relevant: Tensor, irrelevant: Tensor) -> Split:
        """A quantity that has no bias part."""
        return cls(relevant, irrelevant, relevant.new_zeros(()), relevant + irrelevant)


ContributionRule = Callable[[Nonlinearity, Tensor, Tensor, Tensor], Split]


def bias_first(s: Nonlinearity, a: Tensor, b: Tensor, c: Tensor) -> Split:
    """Shapley values of A and B given that the bias C comes first; they sum to s(A + B + C).

    >>> parts = bias_first(torch.sigmoid, *torch.tensor([0.3, -0.1, 0.2]))
    >>> bool((parts.relevant + parts.irrelevant + parts.bias).isclose(parts.whole))
    True
    """
    base, whole = s(c), s(a + b + c)
    with_a, with_b = s(a + c), s(b + c)
    relevant = mean_rise(s, a, (base, with_a), (with_b, whole))
    irrelevant = mean_rise(s, b, (base, with_b), (with_a, whole))
    return Split(relevant, irrelevant, base.expand_as(whole), whole)


def mean_rise(
    s: Nonlinearity, step: Tensor, one: tuple[Tensor, Tensor], other: tuple[Tensor, Tensor]
) -> Tensor:
    """The mean of two differences s(x + step) - s(x), given as (s(x), s(x + step)).

    A word's part fades with every step that follows it. As a difference it would be rounding from
    where it is smaller than the digits of what is subtracted, so it is a product with the step:
    tanh u - tanh v = tanh(u - v) (1 - tanh u tanh v), and s(x) = (1 + tanh(x / 2)) / 2.
    """
    products = one[0] * one[1] + other[0] * other[1]
    if s is torch.tanh:
        return torch.tanh(step) * (1 - products / 2)
    return torch.tanh(step / 2) * ((one[0] + one[1] + other[0] + other[1]) / 2 - products)


def as_printed(s: Nonlinearity, a: Tensor, b: Tensor, c: Tensor) -> Split:
    """Appendix A to the letter: L(y) = 1/2 [(s(y) - s(0)) + (s(y + rest) - s(y))].

    The last s(y) should be s(rest). As it stands s(y) cancels: every summand contributes the same,
    and three summands 3/2 [s(A + B + C) - s(0)] together.
    """
    zero, whole = s(torch.zeros_like(c)), s(a + b + c)

    def contribution(y: Tensor) -> Tensor:
        alone = s(y)
        return ((alone - zero) + (whole - alone)) / 2

    parts = contribution(a), contribution(b), contribution(c.expand_as(whole))
    return Split(*parts, sum(parts[1:], parts[0]))


def split_product(
    x: Split, y: Split, interactions: frozenset[str], both_biases: Tensor
) -> tuple[Tensor, Tensor]:
    """The product of two split quantities: its relevant part, and the rest.

    `interactions` names which products of unlike parts are relevant; what is not named is
    irrelevant. `both_biases` is 1 where the product of the two biases is relevant, else 0.
    """
    relevant = both_biases * x.bias * y.bias
    if "rel-rel" in interactions:
        relevant = relevant + x.relevant * y.relevant
    if "rel-bias" in interactions:
        relevant = relevant + x.relevant * y.bias + x.bias * y.relevant
    if "rel-irrel" in interactions:
        relevant = relevant + x.relevant * y.irrelevant + x.irrelevant * y.relevant
    return relevant, x.whole * y.whole - relevant
