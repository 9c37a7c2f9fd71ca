"""s(S + M) - s(S - M) for the logistic s, which is all that shares of a gate ask of each row.

With A + B + C = T, a gate's relevant part and its bias are 1/2 [s(T) + s(C) + d], where
d = s(A + C) - s(T - A) is such a difference: S = (T + C) / 2 is shared by all rows of a sentence,
M = A + (C - T) / 2 is a row's own. Since

    d = sinh M / (cosh S + cosh M) = 1 - (2 + k e) / (1 + k e + e²),   e = exp M, k = 2 cosh S,

a row costs one exponential and one division where four sigmoids stood, and adding a word's input
to A is a product with e. tanh(x) = 2 s(2x) - 1 is brought to the same form. M is kept in units of
log 2 throughout (`LOG2E` of them are 1), because exp2 is the cheaper exponential.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

LOG2E = math.log2(math.e)


class Around(NamedTuple):
    """What rows of one sentence and step share: S as a way wants it, and what d is put into."""

    centre: Tensor
    level: Tensor
    weight: Tensor | None = None  # None: 1


@dataclass(frozen=True)
class Quick:
    """By exponentials: exact while |S| and the inputs stay far from where they overflow."""

    final: ClassVar[bool] = False  # a number that is missing may be there by the other way

    def open(self, moved: Tensor) -> Tensor:
        """M becomes exp M, in place."""
        return moved.exp2_()

    def shift(self, by: Tensor) -> Tensor:
        """What `moved` takes on when `by` is added to M."""
        return torch.exp2(by)

    def shifted(self, moved: Tensor, by: Tensor, *, out: Tensor) -> Tensor:
        """`moved` with M larger, `by` coming from `shift`."""
        return torch.mul(moved, by, out=out)

    def centre(self, middle: Tensor) -> Tensor:
        """What `settle` wants to know of S: 2 cosh S."""
        grown = torch.exp2(middle * LOG2E)
        return grown + 1 / grown

    def settle(self, moved: Tensor, spare: Tensor, around: Around) -> Tensor:
        """level - weight (1 - d) in `spare`; `moved` is used up."""
        torch.addcmul(moved.new_ones(()), around.centre, moved, out=spare)
        torch.addcmul(spare, moved, moved, out=moved)
        if around.weight is None:
            spare.add_(1)
        else:
            torch.addcmul(around.weight, around.weight, spare, out=spare)
        return torch.addcdiv(around.level, spare, moved, value=-1, out=spare)

    def reaches(self, numbers: Tensor) -> bool:
        """Whether exponentials do for these S, or these additions to M.

        e² overflows where M is above half the logarithm of the largest number. By then d must be
        1 to rounding whatever S is, so S stays below that by the logarithm of the precision.
        Below minus the whole logarithm e is lost; additions within the same bound do not bring M
        back from there to where d is not yet -1.
        """
        kind = torch.finfo(numbers.dtype)
        low, high = torch.aminmax(numbers)
        return max(-float(low), float(high)) <= math.log(kind.max) / 2 + math.log(kind.eps) - 1


@dataclass(frozen=True)
class Steady:
    """By tanh, exact for any size and several times as slow: 2 d = tanh (M+S)/2 + tanh (M-S)/2."""

    final: ClassVar[bool] = True

    def open(self, moved: Tensor) -> Tensor:
        """M stays as it is."""
        return moved

    def shift(self, by: Tensor) -> Tensor:
        """What `moved` takes on when `by` is added to M."""
        return by

    def shifted(self, moved: Tensor, by: Tensor, *, out: Tensor) -> Tensor:
        """`moved` with M larger, `by` coming from `shift`."""
        return torch.add(moved, by, out=out)

    def centre(self, middle: Tensor) -> Tensor:
        """What `settle` wants to know of S: itself."""
        return middle.clone()

    def settle(self, moved: Tensor, spare: Tensor, around: Around) -> Tensor:
        """level - weight (1 - d) in `spare`; `moved` is used up."""
        moved.div_(LOG2E)
        torch.add(moved, around.centre, out=spare).div_(2).tanh_()
        spare.add_(moved.sub_(around.centre).div_(2).tanh_()).div_(2).sub_(1)
        if around.weight is not None:
            spare.mul_(around.weight)
        return spare.add_(around.level)

    def reaches(self, numbers: Tensor) -> bool:
        """Always."""
        return True


Way = Quick | Steady
