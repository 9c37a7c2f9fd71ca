"""A state in parts, and what linear maps, norms and activations do to them, rule by rule.

Axes: F focus sets (or any first axes), N positions, D width. The whole and the bias part are the
same for every focus set: their first axes are 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from espalier.decomposition.rules import (
    BiasApart,
    Difference,
    KeepOpposites,
    Rules,
    Shapley,
    SharedBias,
    Slope,
    ZeroOpposites,
)
from espalier.networks import ACTIVATIONS, ActivationName, Linear, Norm

State = Float[Tensor, "*F N D"]
Shared = Float[Tensor, "*W N D"]  # by every focus set


@dataclass(frozen=True)
class Divided:
    """A state's whole, its relevant part, and the others where they are carried separately.

    Without a carried irrelevant part it is what is left of the whole; without a bias part biases
    are shared.
    """

    whole: Shared
    relevant: State
    irrelevant: State | None = None
    bias: Shared | None = None

    @property
    def rest(self) -> State:
        """The irrelevant part, carried or left."""
        if self.irrelevant is not None:
            return self.irrelevant
        left = self.whole - self.relevant
        return left if self.bias is None else left - self.bias

    def each(self, *others: Divided, function: str = "add") -> Divided:
        """Part by part: the sum of states, or their values side by side."""
        both = (self, *others)

        def of(name: str) -> Tensor | None:
            found = [getattr(one, name) for one in both]
            if any(part is None for part in found):
                return None
            return sum(found[1:], found[0]) if function == "add" else torch.cat(found, dim=-1)

        whole, relevant = of("whole"), of("relevant")
        assert whole is not None
        assert relevant is not None
        return Divided(whole, relevant, of("irrelevant"), of("bias"))

    def done(self, function: Callable[[Tensor], Tensor]) -> Divided:
        """A linear function of every part."""
        rest = (None if part is None else function(part) for part in (self.irrelevant, self.bias))
        return Divided(function(self.whole), function(self.relevant), *rest)

    def mapped(self, weight: Float[Tensor, "O D"]) -> Divided:
        """Every part times a matrix."""
        return self.done(lambda part: part @ weight.T)


def with_bias(
    x: Divided, bias: Tensor | None, rules: Rules, *, sizes: Divided | None = None
) -> Divided:
    """The state with a bias added, to the part that the rule says.

    It is shared by the sizes of the parts themselves, or of others: CD-T shares a norm's bias by
    the parts that enter it.
    """
    if bias is None:
        return x
    whole = x.whole + bias
    match rules.bias:
        case BiasApart():
            apart = bias.expand_as(x.whole) if x.bias is None else x.bias + bias
            return Divided(whole, x.relevant, x.irrelevant, apart)
        case SharedBias():
            by = x if sizes is None else sizes
            mine, other = by.relevant.abs(), by.rest.abs()
            total = mine + other
            share = torch.where(total > 0, mine / total.clamp_min(_tiny(total)), 0.0) * bias
            rest = None if x.irrelevant is None else x.irrelevant + (bias - share)
            return Divided(whole, x.relevant + share, rest, x.bias)


def linear(x: Divided, part: Linear, rules: Rules) -> Divided:
    """Every part times the matrix; the bias by its rule."""
    return with_bias(x.mapped(part.weight), part.bias, rules)


def norm(x: Divided, given: Norm, rules: Rules) -> Divided:
    """Every part centred separately and divided by the whole's deviation; the bias by its rule."""

    def centre(part: Tensor) -> Tensor:
        return part - part.mean(dim=-1, keepdim=True) if given.centred else part

    deviation = (centre(x.whole).square().mean(dim=-1, keepdim=True) + given.eps).sqrt()
    scale = 1 / deviation if given.weight is None else given.weight / deviation

    scaled = x.done(lambda part: centre(part) * scale)
    return with_bias(scaled, given.bias, rules, sizes=x)


def activate(x: Divided, name: ActivationName, rules: Rules) -> Divided:
    """An activation's value in parts, by the rule."""
    f, r, rest = ACTIVATIONS[name], x.relevant, x.rest
    base = torch.zeros_like(x.whole) if x.bias is None else x.bias
    whole, of_base = f(x.whole), f(base)
    bias = None if x.bias is None else of_base
    match rules.activation:
        case Slope():
            zero = x.whole == 0
            slope = torch.where(zero, 0.0, whole / torch.where(zero, 1.0, x.whole))
            bias = None if x.bias is None else x.bias * slope
            relevant, irrelevant = r * slope, rest * slope
        case Difference():
            without = f(rest + base)
            relevant, irrelevant = whole - without, without - (0 if bias is None else of_base)
        case Shapley():
            alone, without = f(r + base), f(rest + base)
            relevant = (alone - of_base + whole - without) / 2
            irrelevant = (without - of_base + whole - alone) / 2 + (of_base if bias is None else 0)
    return Divided(whole, relevant, None if x.irrelevant is None else irrelevant, bias)


def settle(x: Divided, rules: Rules) -> Divided:
    """The state with parts of opposite signs as the rule has them."""
    match rules.opposites:
        case KeepOpposites():
            return x
        case ZeroOpposites():
            r, rest = x.relevant, x.rest
            total, larger = r + rest, r.abs() >= rest.abs()
            opposite = r * rest < 0
            relevant = torch.where(opposite, torch.where(larger, total, 0.0), r)
            irrelevant = torch.where(opposite, torch.where(larger, 0.0, total), rest)
            return Divided(x.whole, relevant, None if x.irrelevant is None else irrelevant, x.bias)


def product(x: Divided, y: Divided, rules: Rules) -> Divided:
    """A product of two states in parts, as with a gate y: by the rule for activations.

    Slope holds the gate fixed; Difference counts what would not be without r; Shapley shares it.
    """
    whole, bias = x.whole * y.whole, None
    if x.bias is not None and y.bias is not None:
        bias = x.bias * y.bias
    match rules.activation:
        case Slope():
            relevant = x.relevant * y.whole
            bias = None if bias is None or x.bias is None else x.bias * y.whole
        case Difference():
            relevant = whole - (x.whole - x.relevant) * (y.whole - y.relevant)
        case Shapley():
            x_alone, y_alone = (
                one.relevant if one.bias is None else one.relevant + one.bias for one in (x, y)
            )
            without = (x.whole - x.relevant) * (y.whole - y.relevant)
            relevant = (x_alone * y_alone - (0 if bias is None else bias) + whole - without) / 2
    irrelevant = None
    if x.irrelevant is not None:
        irrelevant = whole - relevant if bias is None else whole - relevant - bias
    return Divided(whole, relevant, irrelevant, bias)


def _tiny(like: Tensor) -> float:
    return float(torch.finfo(like.dtype).tiny)
