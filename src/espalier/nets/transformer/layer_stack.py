"""All layers of a narrow encoder or decoder as few kernels, for training on CUDA.

Where the stream is no wider than a head, a head's four matrices are two of the stream's width, its
circuits; and a row of up to 64 positions, with its stream, fits into one program. A sub-layer is
then one kernel forward and one back, in place of some twenty.

E members, B sequences, R rows, N positions asking, M asked, C of a row, D residual, H heads, K
width of a head, O layers with weights of their own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional
from torch.utils._triton import has_triton

from espalier.nets.transformer.biases import NEVER, never_unless
from espalier.nets.transformer.layer_launches import CELLS, Plan, Stack
from espalier.nets.transformer.short_attention import MOST

if TYPE_CHECKING:
    from espalier.nets.transformer.model import TransformerShape

WIDTHS = (64, 128)  # of a stream

Weights = Mapping[str, Tensor]
SubLayer = tuple[Float[Tensor, "E O D"], Tensor, Tensor]  # a norm's scale and two matrices


def is_narrow(shape: TransformerShape, dtype: torch.dtype, device: torch.device) -> bool:
    """Whether Transformers of such a shape and type are trained by kernels on this device."""
    return (
        shape.width in WIDTHS
        and shape.head_width >= shape.width
        and shape.hidden % shape.width == 0
        and dtype == torch.bfloat16
        and device.type == "cuda"
        and _copies_blocks(device)
    )


def fits(stream: Float[Tensor, "E R N D"]) -> bool:
    """Whether its rows are short enough for kernels, and few enough."""
    members, rows, positions, width = stream.shape
    return positions <= CELLS and members * rows * CELLS * width < MOST


@cache
def _copies_blocks(device: torch.device) -> bool:
    """Whether the device does, as from Hopper on, and Triton, as from 3.4 on."""
    if not has_triton() or find_spec("triton.tools.tensor_descriptor") is None:
        return False
    return torch.cuda.get_device_capability(device) >= (9, 0)


def circuits(
    weights: Weights, kind: str, heads: int
) -> tuple[Float[Tensor, "E O H D D"], Float[Tensor, "E O H D D"]]:
    """Of every head what attends, query by key, and what is moved, value by output."""
    query, key, value = (
        weights[f"{kind}.{part}"].unflatten(-1, (heads, -1)).transpose(2, 3)  # E O H D K
        for part in ("query", "key", "value")
    )
    output = weights[f"{kind}.output"].unflatten(2, (heads, -1))  # E O H K D
    return query @ key.mT, value @ output


def sub_layers(weights: Weights, stack: str, heads: int) -> dict[str, SubLayer]:
    """A stack's weights as `run_layers` takes them, in the order in which a layer has them."""
    kinds = [kind for kind in ("self", "cross") if f"{stack}.{kind}.scale" in weights]
    found = {
        kind: (weights[f"{stack}.{kind}.scale"], *circuits(weights, f"{stack}.{kind}", heads))
        for kind in kinds
    }
    scale, inner, outer = (weights[f"{stack}.mlp.{part}"] for part in ("scale", "inner", "outer"))
    return found | {"mlp": (scale, inner, outer)}


def side_by_side(
    stream: Float[Tensor, "E B N D"], valid: Bool[Tensor, "E B N"]
) -> tuple[Float[Tensor, "E R C D"], Float[Tensor, "E R C C"]]:
    """As many sequences to a row as it holds, and who does not see whom: other sequences."""
    beside = CELLS // stream.shape[2]
    more = -stream.shape[1] % beside
    rows = functional.pad(stream, (0, 0, 0, 0, 0, more)).unflatten(1, (-1, beside)).flatten(2, 3)
    there = functional.pad(valid, (0, 0, 0, more)).unflatten(1, (-1, beside)).flatten(2, 3)
    places = torch.arange(rows.shape[2], device=rows.device) // stream.shape[2]
    return rows, never_unless(there.unsqueeze(2) & (places.unsqueeze(1) == places))


def apart(
    rows: Float[Tensor, "E R C D"], like: Float[Tensor, "E B N D"]
) -> Float[Tensor, "E B N D"]:
    """Sequences again, as they were before `side_by_side`."""
    found: Tensor = rows.unflatten(2, (-1, like.shape[2])).flatten(1, 2)
    return found[:, : like.shape[1]]


def run_layers(
    stream: Float[Tensor, "E R N D"],
    weights: Mapping[str, SubLayer],
    *,
    layers: int,
    head_width: int,
    mask: Float[Tensor, "e r N N"],
    relative: Float[Tensor, "E H N N"] | None = None,
    asked: Float[Tensor, "E R M D"] | None = None,
    across: Float[Tensor, "f s N M"] | None = None,
) -> Float[Tensor, "E R N D"]:
    """The stream after all layers; `mask` and `across` are added to logits as they are."""
    flat = [tensor.contiguous() for parts in weights.values() for tensor in parts]
    masks = {"self": _mask_of_cells(mask)}
    if across is not None:
        masks["cross"] = _mask_of_cells(across)
    plan = Plan(layers, 1 / math.sqrt(head_width), tuple(weights), masks)
    given = [None if one is None else _in_cells(one) for one in (stream, asked)]
    if relative is not None:
        relative = functional.pad(relative, _free(relative)).to(flat[0].dtype).contiguous()
    found: Tensor = _Layers.apply(plan, *given, relative, *flat)
    return found[:, :, : stream.shape[2]]


def _in_cells(rows: Float[Tensor, "E R N D"]) -> Float[Tensor, "E R C D"]:
    return functional.pad(rows, (0, 0, 0, CELLS - rows.shape[2])).contiguous()


def _mask_of_cells(mask: Float[Tensor, "e r N M"]) -> Float[Tensor, "e r C C"]:
    return functional.pad(mask.to(torch.bfloat16), _free(mask), value=NEVER).contiguous()


def _free(pairs: Float[Tensor, "*any N M"]) -> tuple[int, int, int, int]:
    """Cells that positions do not fill, as `pad` takes them."""
    return 0, CELLS - pairs.shape[-1], 0, CELLS - pairs.shape[-2]


class _Layers(torch.autograd.Function):
    """Kernel after kernel; every sub-layer's input is saved for the backward pass."""

    @staticmethod
    def forward(
        ctx: Any,
        plan: Plan,
        stream: Tensor,
        asked: Tensor | None,
        relative: Tensor | None,
        *flat: Tensor,
    ) -> Tensor:
        stack = Stack(plan, stream, asked, relative, flat)
        with torch.cuda.device_of(stream):
            found = stack.forward(stream)
        ctx.plan = plan
        kept = (*stack.streams.values(), *stack.read.values())
        ctx.save_for_backward(stream, asked, relative, *flat, *kept)
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        stream, asked, relative, *rest = ctx.saved_tensors
        kinds = ctx.plan.kinds
        flat, kept = rest[: 3 * len(kinds)], rest[3 * len(kinds) :]
        stack = Stack(ctx.plan, stream, asked, relative, flat)
        stack.streams = dict(zip(kinds, kept[: len(kinds)], strict=True))
        stack.read = dict(zip(kinds, kept[len(kinds) :], strict=True))
        with torch.cuda.device_of(stream):
            return None, *stack.backward(gradient.contiguous())
