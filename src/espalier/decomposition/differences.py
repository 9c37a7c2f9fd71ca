"""s(S + M) - s(S - M) for the logistic s, which is all that shares of a gate ask of each row.

With A + B + C = T, a gate's relevant part and its bias are 1/2 [s(T) + s(C) + d], where
d = s(A + C) - s(T - A) is such a difference: S = (T + C) / 2 is shared by all rows of a sentence,
M = A + (C - T) / 2 is a row's own. Since

    d = sinh M / (cosh S + cosh M) = 1 - (2c + (1 + c) u) / (c + (1 + c) u + u²)

with u = exp(M - |S|) and c = exp(-2 |S|), a row costs one exponential and one division where four
sigmoids stood. All terms are positive, so that nothing cancels, and where u underflows d is -1 as
it should be; measured from |S|, nothing overflows that a trained network brings about, however
saturated its gates. tanh(x) = 2 s(2x) - 1 is brought to the same form. M is kept in units of log 2
throughout (`LOG2E` of them are 1), because exp2 is the cheaper exponential.
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
    slope: Tensor | None = None
    base: Tensor | None = None


@dataclass(frozen=True)
class Quick:
    """By exponentials: exact while exp(-2 |S|) is a number with all its digits."""

    final: ClassVar[bool] = False  # a number that is missing may be there by the other way

    def origin(self, moved: Tensor, middle: Tensor) -> Tensor:
        """What rows start from where M is to start from `moved`, in place: M - |S|."""
        return moved.sub_(middle.abs(), alpha=LOG2E)

    def open(self, moved: Tensor) -> Tensor:
        """M - |S| becomes u, in place."""
        return moved.exp2_()

    def around(self, middle: Tensor, level: Tensor, weight: Tensor | None = None) -> Around:
        """What `settle` wants to know of S: c, 1 + c, and c with the weight."""
        centre = torch.exp2(middle.abs().mul_(-2 * LOG2E))
        return Around(
            centre, level, weight, 1 + centre, centre if weight is None else weight * centre
        )

    def settle(self, moved: Tensor, spare: Tensor, around: Around) -> Tensor:
        """level - weight (1 - d) in `spare`; `moved` is used up."""
        assert around.slope is not None
        assert around.base is not None
        torch.addcmul(around.centre, around.slope, moved, out=spare)
        torch.addcmul(spare, moved, moved, out=moved)
        if around.weight is None:
            spare.add_(around.base)
        else:
            torch.addcmul(around.base, around.weight, spare, out=spare)
        return torch.addcdiv(around.level, spare, moved, value=-1, out=spare)

    def reaches(self, middle: Tensor) -> bool:
        """Whether exponentials do for these S: below that, c would be lost."""
        low, high = torch.aminmax(middle)
        return max(-float(low), float(high)) <= -math.log(torch.finfo(middle.dtype).tiny) / 2


@dataclass(frozen=True)
class Steady:
    """By tanh, exact for any size and several times as slow: 2 d = tanh (M+S)/2 + tanh (M-S)/2."""

    final: ClassVar[bool] = True

    def origin(self, moved: Tensor, middle: Tensor) -> Tensor:
        """What rows start from where M is to start from `moved`: the same."""
        return moved

    def open(self, moved: Tensor) -> Tensor:
        """M stays as it is."""
        return moved

    def around(self, middle: Tensor, level: Tensor, weight: Tensor | None = None) -> Around:
        """What `settle` wants to know of S: itself."""
        return Around(middle.clone(), level, weight)

    def settle(self, moved: Tensor, spare: Tensor, around: Around) -> Tensor:
        """level - weight (1 - d) in `spare`; `moved` is used up."""
        moved.div_(LOG2E)
        torch.add(moved, around.centre, out=spare).div_(2).tanh_()
        spare.add_(moved.sub_(around.centre).div_(2).tanh_()).div_(2).sub_(1)
        if around.weight is not None:
            spare.mul_(around.weight)
        return spare.add_(around.level)

    def reaches(self, middle: Tensor) -> bool:
        """Always."""
        return True


Way = Quick | Steady
