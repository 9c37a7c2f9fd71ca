"""What words contribute to gates and states, alone and together, where totals are known beforehand.

With T = A + B + C known from a plain run of the model only the relevant side A is to be carried.
What A contributes to tanh T, and what A and O contribute together beyond the sum of what each does:

    p(A)   = 1/2 [ tanh(C + A) - tanh C + tanh T - tanh(T - A) ]
           = 1/2 tanh A [ 2 - tanh C tanh(C + A) - tanh T tanh(T - A) ]
    J(A,O) = p(A + O) - p(A) - p(O)
           = 1/2 tanh A tanh O [ tanh(T-A) (1 - tanh T tanh(T-O))
                               + tanh(T-O) (1 - tanh(T-A) tanh(T-A-O))
                               - tanh(C+A) (1 - tanh C tanh(C+O))
                               - tanh(C+O) (1 - tanh(C+A) tanh(C+A+O)) ]

since tanh u - tanh v = tanh(u - v) (1 - tanh u tanh v), applied once and twice. So neither a small
contribution nor a small interaction is ever a difference: both keep their digits as they fade. What
enters a sigmoid is halved, as s(x) is (1 + tanh(x / 2)) / 2, so that the same holds for all gates;
the hidden state is o tanh(cell), where C = 0 and T is the cell. The output gate is not split.

Axes: N steps, K of them, J tanhs, l words, S sentences, W width: H units, or gates i f g in 3H.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

Steps = Float[Tensor, "N 1 S W"]


class Squashed:
    """scale * tanh(T) at some steps: what O contributes to it, and all that words share.

    With tanh(A + shift) for the `shifts` C, -T, C + O and O - T called near, far, pair_0, pair_1:

        p(A)   = tanh A (scale + bias_weight near + total_weight far)
        J(A,O) = tanh A (rest + Q_0 near + Q_1 far), where Q = pair_bias - pair_weight pair
    """

    def __init__(self, like: Steps, scale: Tensor) -> None:
        steps, *shape = like.shape
        self.scale, self.minus_half = scale, torch.zeros_like(scale)
        self.shifts, self._tanhs = like.new_zeros(2, steps, 4, *shape).unbind(0)
        self.pair_weight, self.pair_bias = like.new_zeros(2, steps, 2, *shape).unbind(0)
        self.own, self.rest, self.total_weight = like.new_zeros(3, *like.shape).unbind(0)
        self.bias_weight = like.new_zeros(like.shape[-1])
        self._new, self._of_each = self.shifts.unbind(1), self._tanhs.unbind(1)
        self._of_first, self._of_pair = self._tanhs.chunk(2, dim=1)

    def share(self, total: Steps, own: Steps, bias: Float[Tensor, " W"] | None) -> None:
        """Take in T, O and C (None: zero); the scale is that which it was made with."""
        none, minus_total, with_own, without_rest = self._new
        of_bias, of_minus_total, near, far = self._of_each
        torch.mul(self.scale, -0.5, out=self.minus_half)
        if bias is None:
            with_own.copy_(own)
        else:
            none.copy_(bias)
            torch.add(own, bias, out=with_own)
        torch.neg(total, out=minus_total)
        torch.sub(own, total, out=without_rest)
        torch.tanh(self.shifts, out=self._tanhs)
        torch.mul(of_minus_total, self.minus_half, out=self.total_weight)
        torch.addcmul(self.scale, self.total_weight, far, out=self.own)
        if bias is not None:
            torch.mul(of_bias[0, 0, 0], self.minus_half, out=self.bias_weight)
            self.own.addcmul_(self.bias_weight, near)
        of_own = near if bias is None else torch.tanh(own)
        self.own.mul_(of_own)
        weight = (of_own * self.minus_half).unsqueeze(1)
        torch.mul(self._of_pair, weight, out=self.pair_weight)
        torch.addcmul(weight, self._of_first, self.pair_weight, value=-1, out=self.pair_bias)
        torch.sum(self.pair_weight, dim=1, out=self.rest)


class Tanhs:
    """tanh(A) and tanh(A + shift) of words at some steps, and with something added to the pair.

    Without a bias near is tanh(A). What is added is to be put into `extra`.
    """

    def __init__(
        self,
        memory: Float[Tensor, "K J l S W"],
        shared: Squashed,
        steps: slice,
        *,
        biased: bool,
    ) -> None:
        self.of_a, after, sentences = memory[:, 0], memory[:, int(biased) :], memory.shape[-2]
        self.near, self.far, self._first, self._second = after[:, :4].unbind(1)
        self.pair, self._extended, self._more = after[:, 2:4], after[:, 2:], after[:, 4:6]
        self._extends = after.shape[1] > 4
        if self._extends:
            self._rise, self._other, self.extra = after[:, 4:].unbind(1)
            self._extra = after[:, 6:]

        def cut(one: Tensor) -> Tensor:
            return one if one.ndim == 1 else one[steps][..., :sentences, :]

        self.scale, self._minus_half = cut(shared.scale), cut(shared.minus_half)
        self.shifts, self.pair_shifts = cut(shared.shifts), cut(shared.shifts)[:, 2:]
        self.total_weight, self.bias_weight = cut(shared.total_weight), shared.bias_weight
        self._rest, self.own = cut(shared.rest), cut(shared.own)
        self._pair_bias, self._pair_weight = cut(shared.pair_bias), cut(shared.pair_weight)

    def extend(self) -> None:
        """Take the tanhs of the pair, of `extra`, and of both; from A + shift of the pair."""
        torch.add(self.pair, self._extra, out=self._more)
        self._extended.tanh_()
        # p(A + O + e) - p(A + O) over tanh e: p(e) with C + A + O in place of C, T - A - O of T
        self._more.mul_(self.pair)
        self._rise.add_(self._other)
        torch.addcmul(self.scale, self._rise, self._minus_half, out=self._rise)

    def together(self, start: Tensor | None, out: Tensor) -> Tensor:
        """start + J(A, O), and what `extra` adds; all steps at once."""
        torch.addcmul(self._pair_bias, self.pair, self._pair_weight, value=-1, out=self.pair)
        torch.addcmul(self._rest, self._first, self.near, out=self._first)
        self._first.addcmul_(self._second, self.far)
        if start is None:
            torch.mul(self.of_a, self._first, out=out)
        else:
            torch.addcmul(start, self.of_a, self._first, out=out)
        return out.addcmul_(self.extra, self._rise) if self._extends else out

    @property
    def spare(self) -> Tensor:
        """Where `together` may be written."""
        return self._first
