"""Attention among a few dozen positions as one kernel forward and one back, on CUDA.

Libraries' kernels are made for thousands of positions: among 9 or 49, with biases that are learned,
it takes several times as long as these two.

E members, B rows, N positions asking, M asked, H heads, I all of them side by side. J is I where
queries lie alone, L twice that, and J three times that where keys and values lie beside them.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils._triton import has_triton

LONGEST = 64  # positions
WIDTHS = (16, 32, 64, 128)  # of a head
TYPES = (torch.bfloat16, torch.float16)  # longer ones would not fit into a program's memory
MOST = 1 << 31  # kernels count in 32 bits


def is_short(asking: Tensor, asked: Tensor | None, heads: int) -> bool:
    """Whether `short_attention` does this on this device."""
    seen, inner = asking if asked is None else asked, _inner(asking, asked)
    members, batch, asks, _ = asking.shape
    biases = members * batch * heads * asks * seen.shape[2]
    return (
        asking.is_cuda
        and seen.device == asking.device
        and has_kernels((8, 0))
        and asking.dtype in TYPES
        and seen.dtype == asking.dtype
        and asks <= LONGEST
        and 1 <= seen.shape[2] <= LONGEST
        and inner in [heads * width for width in WIDTHS]
        and seen.shape[3] == (3 if asked is None else 2) * inner
        and max(asking.numel(), seen.numel(), biases) < MOST
    )


def has_kernels(capability: tuple[int, int]) -> bool:
    """Whether Triton is here, and a device that can do at least so much."""
    return has_triton() and torch.cuda.get_device_capability() >= capability


# As torch.compiler.assume_constant_result does, which imports the whole compiler for it.
vars(has_kernels)["_dynamo_marked_constant"] = True


def short_attention(
    asking: Float[Tensor, "E B N J"],
    asked: Float[Tensor, "E B M L"] | None,
    bias: Float[Tensor, "E b h n M"],
    heads: int,
) -> Float[Tensor, "E B N I"]:
    """What every head carries, side by side.

    `asking` are queries, and `asked` keys next to values; or `asking` alone has all three.
    """
    found: Tensor = torch.ops.espalier.short_attention(asking, asked, bias, heads)
    return found


@torch.library.custom_op(
    "espalier::short_attention",
    mutates_args=(),
    schema="(Tensor asking, Tensor? asked, Tensor bias, int heads) -> Tensor",
)
def _forward(asking: Tensor, asked: Tensor | None, bias: Tensor, heads: int) -> Tensor:
    from espalier.nets.transformer.attention_kernels import forward

    carried = _carried(asking, asked, bias, heads)
    grid, read, constants = _launch(asking, asked, bias, heads)
    with torch.cuda.device_of(asking):
        forward[grid](carried, *read, **constants)
    return carried


def _carried(asking: Tensor, asked: Tensor | None, bias: Tensor, heads: int) -> Tensor:
    return asking.new_empty(*asking.shape[:3], _inner(asking, asked))


@torch.library.custom_op(
    "espalier::short_attention_back",
    mutates_args=(),
    schema="(Tensor gradient, Tensor asking, Tensor? asked, Tensor bias, int heads, bool learned)"
    " -> (Tensor, Tensor, Tensor)",
)
def _backward(
    gradient: Tensor,
    asking: Tensor,
    asked: Tensor | None,
    bias: Tensor,
    heads: int,
    learned: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of `asking`, `asked` and every bias; of what is not there or learned, nothing."""
    from espalier.nets.transformer.attention_kernels import backward

    found = _gradients(gradient, asking, asked, bias, heads, learned)
    to_asking, to_asked, to_bias = found
    to_seen = to_asking if asked is None else to_asked
    grid, read, constants = _launch(asking, asked, bias, heads)
    given = (gradient.contiguous(), to_asking, to_seen, to_bias)
    with torch.cuda.device_of(asking):
        backward[grid](*given, *read, LEARNED=learned, ADDED=False, **constants)
    return found


def _gradients(
    gradient: Tensor,
    asking: Tensor,
    asked: Tensor | None,
    bias: Tensor,
    heads: int,
    learned: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    seen = asking if asked is None else asked
    every = (*asking.shape[:2], heads, asking.shape[2], seen.shape[2]) if learned else (0,)
    to_asked = asking.new_empty(0) if asked is None else asked.new_empty(asked.shape)
    return asking.new_empty(asking.shape), to_asked, bias.new_empty(every, dtype=torch.float32)


def _launch(
    asking: Tensor, asked: Tensor | None, bias: Tensor, heads: int
) -> tuple[tuple[int], list[Any], dict[str, int]]:
    """A program for every head of a row; what it reads, and blocks that hold it."""
    asking, width = asking.contiguous(), _inner(asking, asked) // heads
    seen = asking if asked is None else asked.contiguous()
    members, batch, asks, own = asking.shape
    *_, others, other = seen.shape
    biases = bias.float().expand(*bias.shape[:-1], others).contiguous()
    biases = biases.expand(members, batch, heads, asks, others)
    blocks = [max(16, 1 << (size - 1).bit_length()) for size in (asks, others)]
    sizes = [batch, heads, asks, others, own, other]
    nothing = asking  # in place of where rows begin, and not looked at
    read = [asking, seen, biases, nothing, nothing, *sizes]
    read += [1 / math.sqrt(width), *biases.stride()[:4]]
    constants = {"RAGGED": False, "ASKS": blocks[0], "SEEN": blocks[1], "WIDTH": width}
    return (members * batch * heads,), read, constants | {"num_warps": max(blocks) // 16}


def _inner(asking: Tensor, asked: Tensor | None) -> int:
    return asking.shape[3] // (3 if asked is None else 1)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    asking, asked, bias, ctx.heads = inputs
    ctx.save_for_backward(asking, asked, bias)


def _back(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    asking, asked, bias = ctx.saved_tensors
    learned = ctx.needs_input_grad[2]
    to_asking, to_asked, to_bias = torch.ops.espalier.short_attention_back(
        gradient, asking, asked, bias, ctx.heads, learned
    )
    own = to_bias.sum_to_size(bias.shape).to(bias.dtype) if learned else None
    return to_asking, None if asked is None else to_asked, own, None


_forward.register_fake(_carried)
_backward.register_fake(_gradients)
_forward.register_autograd(_back, setup_context=_keep)
