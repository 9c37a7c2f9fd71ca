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

from espalier.nets.lstm.cell import product, unroll

# What reaches a nonlinearity's result, times its slope there, as autograd has them.
through_sigmoid = torch.ops.aten.sigmoid_backward
through_tanh = torch.ops.aten.tanh_backward

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
    """Any device and type: the cell, step by step."""

    @staticmethod
    def forward(ctx: Any, projected: Gates, recurrent: Tensor, hidden: One, cell: One) -> Any:
        steps = unroll(projected.unbind(1), recurrent, (hidden, cell))
        i, f, g, o, cells, hiddens = (torch.stack(s, dim=1) for s in zip(*steps, strict=True))
        ctx.save_for_backward(recurrent, hidden, cell, i, f, g, o, cells, hiddens)
        return hiddens, cells[:, -1].clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        from_hiddens, to_cell = grads
        recurrent, hidden, cell, i, f, g, o, cells, hiddens = ctx.saved_tensors
        to_hidden, slopes = torch.zeros_like(to_cell), i.new_empty(*i.shape[:-1], 4 * i.shape[-1])
        for t in reversed(range(i.shape[1])):
            i_t, f_t, g_t, o_t = i[:, t], f[:, t], g[:, t], o[:, t]
            before, squashed = cells[:, t - 1] if t else cell, torch.tanh(cells[:, t])
            to_hidden = to_hidden + from_hiddens[:, t]
            to_cell = to_cell + through_tanh(to_hidden * o_t, squashed)
            to_i = through_sigmoid(to_cell * g_t, i_t)
            to_f = through_sigmoid(to_cell * before, f_t)
            to_g = through_tanh(to_cell * i_t, g_t)
            to_o = through_sigmoid(to_hidden * squashed, o_t)
            slopes[:, t] = torch.cat([to_i, to_f, to_g, to_o], dim=-1)
            to_cell = to_cell * f_t
            to_hidden = product(slopes[:, t], recurrent)
        past = torch.cat([hidden.unsqueeze(1), hiddens[:, :-1]], dim=1)
        return slopes, _to_recurrent(slopes, past), to_hidden, to_cell


class _Fused(torch.autograd.Function):
    """CUDA, float32: PyTorch's own fused cell, one kernel per step and the product."""

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
