"""The sub-layers of Transformers to be trained, for E members at once.

E members, B sequences, N (and M) positions, D residual, F hidden, I all heads side by side,
J two or three times that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable
from torch.nn import functional

from espalier.nets.fusion import fused
from espalier.nets.transformer.short_attention import is_short, short_attention

Stream = Float[Tensor, "E B N D"]
Found = TypeVar("Found")

# How to attend on CUDA: by our kernels where they can, by torch's one, or product by product.
ATTENTION: Literal["kernels", "torch", "products"] = "kernels"
TINY = 2048  # multiplications below which products are better done together


def through(part: Callable[..., Found], z: Tensor, *rest: Any) -> Found:
    """What a part of a network makes of its input, and of what else it takes.

    Training has one shape for thousands of steps, which is worth a compilation; reading has many.
    """
    return (fused(part, z) if torch.is_grad_enabled() else part)(z, *rest)


def product(x: Float[Tensor, "E B N I"], matrix: Float[Tensor, "E I J"]) -> Tensor:
    """Every member's own matrix applied at every position."""
    members, batch, size, _ = x.shape
    found: Tensor = (torch.bmm if x.is_cuda else _ProductOnCpu.apply)(x.flatten(1, 2), matrix)
    return found.view(members, batch, size, -1)


class _ProductOnCpu(torch.autograd.Function):
    """torch.bmm, but the backward pass does not multiply by a transposed view.

    With small matrices OpenBLAS takes five to ten times as long for one as for a copy.
    """

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, matrix: Tensor) -> Tensor:
        ctx.save_for_backward(x, matrix)
        return torch.bmm(x, matrix)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        x, matrix = ctx.saved_tensors
        return torch.bmm(gradient, matrix.mT.contiguous()), torch.bmm(x.mT, gradient)


def norm(z: Stream, scale: Float[Tensor, "E D"]) -> Stream:
    """The stream with a root mean square of 1 at every position, scaled dimension by dimension."""
    normed = functional.rms_norm(z.float(), z.shape[-1:], eps=1e-6)
    return (normed * scale[:, None, None].float()).to(scale.dtype)


def feed_forward(
    z: Stream,
    scale: Float[Tensor, "E D"],
    inner: Float[Tensor, "E D F"],
    outer: Float[Tensor, "E F D"],
) -> Stream:
    """The stream after an MLP sub-layer."""
    hidden = functional.gelu(product(norm(z, scale), inner), approximate="tanh")
    return z + product(hidden, outer)


def attend_within(
    z: Stream,
    scale: Float[Tensor, "E D"],
    matrices: Float[Tensor, "E D J"],
    output: Float[Tensor, "E I D"],
    bias: Float[Tensor, "E b h n N"],
    heads: int,
) -> Stream:
    """The stream after a sub-layer of attention to itself."""
    asking = product(norm(z, scale), matrices)
    return z + product(_attend(asking, None, bias, heads), output)


def attend_across(
    z: Stream,
    asked: Float[Tensor, "E B M D"],
    scale: Float[Tensor, "E D"],
    asking: Float[Tensor, "E D I"],
    matrices: Float[Tensor, "E D J"],
    output: Float[Tensor, "E I D"],
    bias: Float[Tensor, "E b h n M"],
    heads: int,
) -> Stream:
    """The stream after a sub-layer of attention to an encoder's."""
    carried = _attend(product(norm(z, scale), asking), product(asked, matrices), bias, heads)
    return z + product(carried, output)


def _attend(
    asking: Float[Tensor, "E B N J"],
    asked: Float[Tensor, "E B M L"] | None,
    bias: Float[Tensor, "E b h n M"],
    heads: int,
) -> Float[Tensor, "E B N I"]:
    """What every head carries, side by side.

    `asking` are queries, and `asked` keys next to values; or `asking` alone has all three.
    """
    if ATTENTION == "kernels" and is_short(asking, asked, heads):
        return short_attention(asking, asked, bias, heads)
    parts = asking.chunk(3, -1) if asked is None else (asking, *asked.chunk(2, -1))
    query, key, value = (part.unflatten(-1, (heads, -1)).transpose(2, 3) for part in parts)
    at_once = asking.is_cuda and ATTENTION != "products"
    carried = (on_cuda if at_once else in_full)(query, key, value, bias)
    return carried.transpose(2, 3).flatten(3)


def in_full(
    query: Float[Tensor, "E B H N K"],
    key: Float[Tensor, "E B H M K"],
    value: Float[Tensor, "E B H M K"],
    bias: Float[Tensor, "E b h n M"],
) -> Float[Tensor, "E B H N K"]:
    """Attention product by product; its weights are in float32."""
    logits = small_products(query, key.mT).float() / math.sqrt(query.shape[-1]) + bias
    return small_products(torch.softmax(logits, dim=-1).to(value.dtype), value)


def on_cuda(
    query: Float[Tensor, "E B H N K"],
    key: Float[Tensor, "E B H M K"],
    value: Float[Tensor, "E B H M K"],
    bias: Float[Tensor, "E b h n M"],
) -> Float[Tensor, "E B H N K"]:
    """The same as one kernel."""
    whole = bias.to(query.dtype).expand(*query.shape[:-1], key.shape[-2])
    carried: Tensor = functional.scaled_dot_product_attention(
        query.flatten(0, 1), key.flatten(0, 1), value.flatten(0, 1), attn_mask=whole.flatten(0, 1)
    )
    return carried.view_as(query)


def small_products(
    one: Float[Tensor, "*stacked I J"], other: Float[Tensor, "*stacked J K"]
) -> Float[Tensor, "*stacked I K"]:
    """Products of many small matrices; a CPU does tiny ones faster all at once than in a loop."""
    rows, shared, columns = *one.shape[-2:], other.shape[-1]
    if one.device.type == "cpu" and rows * shared * columns <= TINY:
        return (one.unsqueeze(-1) * other.unsqueeze(-3)).sum(-2)
    return one @ other
