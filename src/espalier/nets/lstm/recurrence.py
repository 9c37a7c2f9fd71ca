"""The LSTM recursion of many models at once, with its derivative written out.

Axes: E members, N steps, B sequences, H units; gates lie as PyTorch has them, i f g o, in 4H.
Weights differ between members, so each step is one batched product. The derivative with respect
to the recurrent weights is left to one large product after the loop, in place of a small one
inside it; that and the fused cell are what autograd alone would not give.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

Gates = Float[Tensor, "E N B four_H"]
Hiddens = Float[Tensor, "E N B H"]
One = Float[Tensor, "E B H"]


def recur(
    projected: Gates, recurrent: Float[Tensor, "E four_H H"], state: tuple[One, One]
) -> tuple[Hiddens, One]:
    """Hidden states at every step and the last cell state.

    `projected` holds what does not depend on the past: input weights times input, plus biases.
    """
    fusable = projected.is_cuda and projected.dtype == torch.float32
    function = _Fused if fusable and fused_cell_works() else _Plain
    hiddens, cell = function.apply(projected, recurrent, *state)
    return hiddens, cell


def product(left: Float[Tensor, "E A B"], right: Float[Tensor, "E B C"]) -> Float[Tensor, "E A C"]:
    """The batched product; of a single pair a plain one, whose threads fare better on a CPU."""
    return torch.bmm(left, right) if len(left) > 1 else torch.mm(left[0], right[0])[None]


@cache
def fused_cell_works() -> bool:
    """Whether PyTorch's fused cell, which it does not document, agrees here with the plain one."""
    generator = torch.Generator().manual_seed(0)
    sizes = [(2, 3, 4, 20), (2, 20, 5), (2, 4, 5), (2, 4, 5)]
    drawn = [torch.randn(size, generator=generator).cuda() for size in sizes]
    found = []
    try:
        for function in (_Plain, _Fused):
            leaves = [tensor.clone().requires_grad_() for tensor in drawn]
            hiddens, cell = function.apply(*leaves)
            (hiddens.square().sum() + cell.sum()).backward()
            found.append([hiddens.detach(), cell.detach(), *(leaf.grad for leaf in leaves)])
    except (RuntimeError, AttributeError, NotImplementedError):
        return False
    pairs = zip(*found, strict=True)
    return all(torch.allclose(plain, fused, rtol=1e-2, atol=1e-2) for plain, fused in pairs)


def _cell(from_input: Tensor, from_hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Hidden state, cell state and activated gates, (rows, ...), in one kernel."""
    found: tuple[Tensor, Tensor, Tensor]
    found = torch.ops.aten._thnn_fused_lstm_cell(from_input, from_hidden, cell)
    return found


def _cell_backward(
    to_hidden: Tensor, to_cell: Tensor, before: Tensor, after: Tensor, gates: Tensor
) -> tuple[Tensor, Tensor]:
    """What goes to the gates and to the cell state before, in one kernel."""
    backward = torch.ops.aten._thnn_fused_lstm_cell_backward_impl
    slopes, to_before, _ = backward(to_hidden, to_cell, before, after, gates, False)
    return slopes, to_before


class _Plain(torch.autograd.Function):
    """Any device and type: in-place elementwise operations on preallocated steps."""

    @staticmethod
    def forward(ctx: Any, projected: Gates, recurrent: Tensor, hidden: One, cell: One) -> Any:
        members, steps, batch, _ = projected.shape
        units = hidden.shape[-1]
        gates = torch.empty_like(projected)
        hiddens = projected.new_empty(members, steps + 1, batch, units)
        cells, squashed = torch.empty_like(hiddens), torch.empty_like(hiddens)
        hiddens[:, 0], cells[:, 0] = hidden, cell
        weights = recurrent.transpose(1, 2).contiguous()  # read N times: 4 times as fast on a CPU
        for t in range(steps):
            torch.add(projected[:, t], product(hiddens[:, t], weights), out=gates[:, t])
            i, f, g, o = gates[:, t].chunk(4, dim=-1)
            gates[:, t, :, : 2 * units].sigmoid_()
            g.tanh_()
            o.sigmoid_()
            torch.mul(f, cells[:, t], out=cells[:, t + 1]).addcmul_(i, g)
            torch.tanh(cells[:, t + 1], out=squashed[:, t + 1])
            torch.mul(o, squashed[:, t + 1], out=hiddens[:, t + 1])
        ctx.save_for_backward(recurrent, gates, hiddens, cells, squashed)
        return hiddens[:, 1:], cells[:, -1].clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        from_hiddens, from_cell = grads
        recurrent, gates, hiddens, cells, squashed = ctx.saved_tensors
        slopes = torch.empty_like(gates)
        to_cell, to_hidden = from_cell, torch.zeros_like(from_cell)
        for t in reversed(range(gates.shape[1])):
            i, f, g, o = gates[:, t].chunk(4, dim=-1)
            to_i, to_f, to_g, to_o = slopes[:, t].chunk(4, dim=-1)
            to_hidden = to_hidden + from_hiddens[:, t]
            tanh = squashed[:, t + 1]
            through = to_hidden * o
            to_cell = torch.addcmul(to_cell + through, through * tanh, tanh, value=-1)
            torch.mul(to_hidden * tanh, o, out=to_o)
            torch.mul(to_cell * g, i, out=to_i)
            torch.mul(to_cell * cells[:, t], f, out=to_f)
            slope = to_cell * i
            torch.addcmul(slope, slope * g, g, value=-1, out=to_g)
            to_o.addcmul_(to_o, o, value=-1)  # sigmoid' = s (1 - s)
            to_i.addcmul_(to_i, i, value=-1)
            to_f.addcmul_(to_f, f, value=-1)
            to_cell = to_cell * f
            to_hidden = product(slopes[:, t], recurrent)
        return slopes, _to_recurrent(slopes, hiddens[:, :-1]), to_hidden, to_cell


class _Fused(torch.autograd.Function):
    """CUDA, float32: PyTorch's own fused cell, one kernel a step beside the product."""

    @staticmethod
    def forward(ctx: Any, projected: Gates, recurrent: Tensor, hidden: One, cell: One) -> Any:
        weights = recurrent.transpose(1, 2)
        first = hidden
        steps = projected.transpose(0, 1).contiguous()
        rows, hiddens, cells = [], [], [cell.contiguous()]
        for now in steps:
            past = torch.bmm(hidden, weights)
            hidden, cell, gates = _cell(
                now.flatten(0, 1), past.flatten(0, 1), cells[-1].flatten(0, 1)
            )
            hidden, cell = hidden.view_as(first), cell.view_as(first)
            rows.append(gates)
            hiddens.append(hidden)
            cells.append(cell)
        stacked = torch.stack([first, *hiddens], dim=1)
        ctx.save_for_backward(recurrent, stacked, *rows, *cells)
        return stacked[:, 1:], cells[-1].clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        from_hiddens, to_cell = grads
        recurrent, hiddens, *rest = ctx.saved_tensors
        steps = hiddens.shape[1] - 1
        rows, cells = rest[:steps], rest[steps:]
        incoming = from_hiddens.transpose(0, 1).clone(memory_format=torch.contiguous_format)
        shape = to_cell.shape
        to_cell, slopes = to_cell.contiguous().flatten(0, 1), []
        for t in reversed(range(steps)):
            slope, to_cell = _cell_backward(
                incoming[t].flatten(0, 1), to_cell, cells[t].flatten(0, 1),
                cells[t + 1].flatten(0, 1), rows[t],
            )  # fmt: skip
            slopes.append(slope.view(*shape[:2], -1))
            if t:  # added in place by the product itself: no kernel of its own
                incoming[t - 1].baddbmm_(slopes[-1], recurrent)
        to_hidden = torch.bmm(slopes[-1], recurrent)
        stacked = torch.stack(slopes[::-1], dim=1)
        weights = _to_recurrent(stacked, hiddens[:, :-1])
        return stacked, weights, to_hidden, to_cell.view(shape)


def _to_recurrent(slopes: Gates, hiddens: Hiddens) -> Float[Tensor, "E four_H H"]:
    """The derivative of the recurrent weights: all steps and sequences in one product."""
    return product(slopes.flatten(1, 2).transpose(1, 2), hiddens.flatten(1, 2))
