"""The GRU's recursion of many models at once, with its derivative written out.

Axes: E members, N steps, B sequences, H units; gates lie as PyTorch has them, r z n, in 3H.
As with the LSTM's, the derivative of the recurrent weights is one large product after the loop.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from espalier.nets.lstm import product

Gates = Float[Tensor, "E N B three_H"]
Hiddens = Float[Tensor, "E N B H"]
One = Float[Tensor, "E B H"]


def gru_cell(now: Tensor, past: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gates r and z, candidate n and the hidden state after a step.

    `now` is what comes from the input and `past` from the hidden state, each with its bias.
    """
    (a, b, c), (p, q, s) = now.chunk(3, dim=-1), past.chunk(3, dim=-1)
    reset, keep = torch.sigmoid(a + p), torch.sigmoid(b + q)
    made = torch.tanh(c + reset * s)
    return reset, keep, made, made + keep * (hidden - made)


def recur(
    projected: Gates, recurrent: Float[Tensor, "E three_H H"], bias: Tensor, hidden: One
) -> Hiddens:
    """Hidden states at every step; `bias` is that of the recurrent weights, (E, 3H)."""
    fusable = projected.is_cuda and projected.dtype == torch.float32
    function = _Fused if fusable and fused_cell_works() else _Plain
    hiddens: Tensor = function.apply(projected, recurrent, bias, hidden)
    return hiddens


@cache
def fused_cell_works() -> bool:
    """Whether PyTorch's fused cell, which it does not document, agrees here with the plain one."""
    generator = torch.Generator().manual_seed(0)
    sizes = [(2, 3, 4, 15), (2, 15, 5), (2, 15), (2, 4, 5)]
    drawn = [torch.randn(size, generator=generator).cuda() for size in sizes]
    found = []
    try:
        for function in (_Plain, _Fused):
            leaves = [tensor.clone().requires_grad_() for tensor in drawn]
            hiddens = function.apply(*leaves)
            hiddens.square().sum().backward()
            found.append([hiddens.detach(), *(leaf.grad for leaf in leaves)])
    except (RuntimeError, AttributeError, NotImplementedError, TypeError, ValueError):
        return False
    pairs = zip(*found, strict=True)
    return all(torch.allclose(plain, fused, rtol=1e-2, atol=1e-2) for plain, fused in pairs)


class _Plain(torch.autograd.Function):
    """Any device and type: the cell, step by step."""

    @staticmethod
    def forward(ctx: Any, projected: Gates, recurrent: Tensor, bias: Tensor, hidden: One) -> Any:
        weights, added = recurrent.mT.contiguous(), bias.unsqueeze(1)
        states, kept = [hidden], []
        for now in projected.unbind(1):
            past = product(states[-1], weights) + added
            *gates, after = gru_cell(now, past, states[-1])
            kept.append(torch.cat([*gates, past.chunk(3, dim=-1)[2]], dim=-1))
            states.append(after)
        stacked = torch.stack(states, dim=1)
        ctx.save_for_backward(recurrent, stacked, torch.stack(kept, dim=1))
        return stacked[:, 1:].clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        recurrent, states, kept = ctx.saved_tensors
        to_hidden = torch.zeros_like(states[:, 0])
        to_now, to_past = [], []
        for t in reversed(range(kept.shape[1])):
            reset, keep, made, carried = kept[:, t].chunk(4, dim=-1)
            to_hidden = to_hidden + grads[0][:, t]
            to_keep = to_hidden * (states[:, t] - made) * keep * (1 - keep)
            to_made = to_hidden * (1 - keep) * (1 - made * made)
            to_reset = to_made * carried * reset * (1 - reset)
            to_now.append(torch.cat([to_reset, to_keep, to_made], dim=-1))
            to_past.append(torch.cat([to_reset, to_keep, to_made * reset], dim=-1))
            to_hidden = to_hidden * keep + product(to_past[-1], recurrent)
        past = torch.stack(to_past[::-1], dim=1)
        now = torch.stack(to_now[::-1], dim=1)
        return now, *_to_weights(past, states[:, :-1]), to_hidden


class _Fused(torch.autograd.Function):
    """CUDA, float32: PyTorch's own fused cell, one kernel per step and the product."""

    @staticmethod
    def forward(ctx: Any, projected: Gates, recurrent: Tensor, bias: Tensor, hidden: One) -> Any:
        weights, added = recurrent.mT, bias.unsqueeze(1)
        steps, states, kept = projected.transpose(0, 1).contiguous(), [hidden.contiguous()], []
        for now in steps:
            past = torch.baddbmm(added, states[-1], weights)
            after, workspace = torch.ops.aten._thnn_fused_gru_cell(
                now.flatten(0, 1), past.flatten(0, 1), states[-1].flatten(0, 1)
            )
            states.append(after.view_as(hidden))
            kept.append(workspace)
        stacked = torch.stack(states, dim=1)
        ctx.save_for_backward(recurrent, stacked, *kept)
        return stacked[:, 1:].clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        recurrent, states, *kept = ctx.saved_tensors
        incoming = grads[0].transpose(0, 1).contiguous()
        to_hidden = torch.zeros_like(incoming[0])
        shape, to_now, to_past = to_hidden.shape, [], []
        for t in reversed(range(len(kept))):
            reaching = (to_hidden + incoming[t]).flatten(0, 1)
            now, past, direct, *_ = torch.ops.aten._thnn_fused_gru_cell_backward(
                reaching, kept[t], False
            )
            to_now.append(now.view(*shape[:2], -1))
            to_past.append(past.view(*shape[:2], -1))
            to_hidden = torch.baddbmm(direct.view(shape), to_past[-1], recurrent)
        past, now = torch.stack(to_past[::-1], dim=1), torch.stack(to_now[::-1], dim=1)
        return now, *_to_weights(past, states[:, :-1]), to_hidden


def _to_weights(slopes: Gates, hiddens: Hiddens) -> tuple[Tensor, Tensor]:
    """The derivatives of recurrent weights and their bias: all steps in one product."""
    flat = slopes.flatten(1, 2)
    return product(flat.mT, hiddens.flatten(1, 2)), flat.sum(1)
