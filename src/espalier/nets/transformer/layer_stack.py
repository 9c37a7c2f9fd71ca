"""All layers of a narrow encoder or decoder as few kernels, for training on CUDA.

Where the stream is no wider than a head, a head's four matrices are two of the stream's width, its
circuits; and a row of up to 64 positions, with its stream, fits into one program. A sub-layer is
then one kernel forward and one back, in place of some twenty.

E members, R rows, N positions asking, M asked, D residual, F hidden, H heads, K width of a head, O
layers with weights of their own, L layers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from espalier.nets.transformer.biases import NEVER
from espalier.nets.transformer.short_attention import has_kernels

CELLS = 64  # positions of a row
WIDTHS = (64, 128)  # of a stream
PROGRAMS = 240  # at least, where a sub-layer can be cut into so many
# Two programs share one of an H200's processors then, and one loads while the other multiplies.
COMPILED = {"num_warps": 4, "num_stages": 1}

_OF_PARTS = ("carried", "query", "hidden", "inner")  # factors with an axis of all parts

Weights = Mapping[str, Tensor]
SubLayer = tuple[Float[Tensor, "E O D"], Tensor, Tensor]  # a norm's scale and two matrices


def is_narrow(shape: Any, stream: Tensor, weights: Weights) -> bool:
    """Whether `run_layers` does this on this device."""
    return (
        shape.width in WIDTHS
        and shape.head_width >= shape.width
        and shape.hidden % shape.width == 0
        and stream.shape[2] <= CELLS
        and stream.is_cuda
        and weights["embedding"].dtype == torch.bfloat16
        and has_kernels((9, 0))
    )


def groups_of(rows: int, parts: int) -> int:
    """Into how many groups a sub-layer's parts are cut: few, but enough programs for a device.

    >>> groups_of(64, 8), groups_of(40, 8), groups_of(320, 8), groups_of(1, 4)
    (4, 8, 1, 4)
    """
    whole = [count for count in range(1, parts + 1) if parts % count == 0]
    return next((count for count in whole if rows * count >= PROGRAMS), parts)


def circuits(weights: Weights, kind: str, heads: int) -> tuple[Tensor, Tensor]:
    """Of every head what attends, query by key, and what is moved, value by output."""
    parts = [weights[f"{kind}.{part}"].unflatten(-1, (heads, -1)) for part in ("query", "key")]
    query, key = (part.transpose(2, 3) for part in parts)  # E O H D K
    value = weights[f"{kind}.value"].unflatten(-1, (heads, -1)).transpose(2, 3)
    output = weights[f"{kind}.output"].unflatten(2, (heads, -1))
    return query @ key.mT, value @ output


def sub_layers(weights: Weights, stack: str, heads: int) -> dict[str, SubLayer]:
    """A stack's weights as `run_layers` takes them, in the order in which a layer has them."""
    kinds = [kind for kind in ("self", "cross") if f"{stack}.{kind}.scale" in weights]
    found = {
        kind: (weights[f"{stack}.{kind}.scale"], *circuits(weights, f"{stack}.{kind}", heads))
        for kind in kinds
    }
    mlp = [weights[f"{stack}.mlp.{part}"] for part in ("scale", "inner", "outer")]
    return found | {"mlp": (mlp[0], mlp[1], mlp[2])}


def side_by_side(
    stream: Float[Tensor, "E B N D"], valid: Bool[Tensor, "E B N"]
) -> tuple[Float[Tensor, "E R C D"], Float[Tensor, "E R C C"]]:
    """As many sequences to a row as it holds, and who does not see whom: other sequences."""
    beside = CELLS // stream.shape[2]
    more = -stream.shape[1] % beside
    rows = functional.pad(stream, (0, 0, 0, 0, 0, more)).unflatten(1, (-1, beside)).flatten(2, 3)
    there = functional.pad(valid, (0, 0, 0, more)).unflatten(1, (-1, beside)).flatten(2, 3)
    places = torch.arange(rows.shape[2], device=rows.device) // stream.shape[2]
    seen = there.unsqueeze(2) & (places.unsqueeze(1) == places)
    return rows, torch.zeros(seen.shape, device=seen.device).masked_fill(~seen, NEVER)


def apart(rows: Float[Tensor, "E R C D"], like: Float[Tensor, "E B N D"]) -> Tensor:
    """Sequences again, as they were before `side_by_side`."""
    return rows.unflatten(2, (-1, like.shape[2])).flatten(1, 2)[:, : like.shape[1]]


def run_layers(
    stream: Float[Tensor, "E R N D"],
    weights: Mapping[str, SubLayer],
    *,
    layers: int,
    head_width: int,
    mask: Float[Tensor, "e r N N"],
    relative: Float[Tensor, "E H N N"] | None = None,
    asked: Float[Tensor, "E R M D"] | None = None,
    across: Float[Tensor, "e r N M"] | None = None,
) -> Float[Tensor, "E R N D"]:
    """The stream after all layers; `mask` and `across` are added to logits as they are."""
    flat = [tensor.contiguous() for parts in weights.values() for tensor in parts]
    size, sizes = stream.shape[2], (layers, 1 / math.sqrt(head_width), tuple(weights))
    masks = {"self": _masked(mask)}
    if across is not None:
        masks["cross"] = _masked(across)
    given = [None if one is None else _filled(one) for one in (stream, asked)]
    if relative is not None:
        free = (0, CELLS - relative.shape[3], 0, CELLS - relative.shape[2])
        relative = functional.pad(relative, free).to(flat[0].dtype).contiguous()
    found: Tensor = _Layers.apply(sizes, masks, *given, relative, *flat)
    return found[:, :, :size]


def _filled(rows: Float[Tensor, "E R N D"]) -> Float[Tensor, "E R C D"]:
    return functional.pad(rows, (0, 0, 0, CELLS - rows.shape[2])).contiguous()


def _masked(mask: Float[Tensor, "e r N M"]) -> Float[Tensor, "e r C C"]:
    free = (0, CELLS - mask.shape[3], 0, CELLS - mask.shape[2])
    return functional.pad(mask.to(torch.bfloat16), free, value=NEVER).contiguous()


class _Layers(torch.autograd.Function):
    """Kernel after kernel; every sub-layer's input is kept for the way back."""

    @staticmethod
    def forward(
        ctx: Any,
        sizes: tuple[int, float, tuple[str, ...]],
        masks: dict[str, Tensor],
        stream: Tensor,
        asked: Tensor | None,
        relative: Tensor | None,
        *flat: Tensor,
    ) -> Tensor:
        stack = _Stack(sizes, masks, stream, asked, relative, flat)
        found = stack.forward(stream)
        ctx.sizes, ctx.masks = sizes, masks
        kept = (*stack.streams.values(), *stack.read.values())
        ctx.save_for_backward(stream, asked, relative, *flat, *kept)
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        stream, asked, relative, *rest = ctx.saved_tensors
        kinds = ctx.sizes[2]
        count = len(kinds)
        stack = _Stack(ctx.sizes, ctx.masks, stream, asked, relative, rest[: 3 * count])
        stack.streams = dict(zip(kinds, rest[3 * count : 4 * count], strict=True))
        stack.read = dict(zip(kinds, rest[4 * count :], strict=True))
        return None, None, *stack.backward(gradient.contiguous())


class _Stack:
    """The kernels' launches for one stack of layers."""

    def __init__(
        self,
        sizes: tuple[int, float, tuple[str, ...]],
        masks: dict[str, Tensor],
        stream: Tensor,
        asked: Tensor | None,
        relative: Tensor | None,
        flat: list[Tensor] | tuple[Tensor, ...],
    ) -> None:
        self.layers, self.logit_scale, self.kinds = sizes
        self.biases, self.asked = {kind: mask.unsqueeze(2) for kind, mask in masks.items()}, asked
        self.relative = relative
        if relative is not None:
            self.biases["self"] = self.biases["self"] + relative.unsqueeze(1)
        self.weights = {kind: flat[3 * n : 3 * n + 3] for n, kind in enumerate(self.kinds)}
        self.shape, self.whole = stream.shape, stream.numel()
        self.members, self.rows, _, self.width = stream.shape
        self.own_layers, self.dtype = flat[0].shape[1], flat[0].dtype
        self.parts = {
            kind: parts[2].shape[2] // (1 if kind != "mlp" else self.width)
            for kind, parts in self.weights.items()
        }
        every = self.members * self.rows
        self.groups = {kind: groups_of(every, parts) for kind, parts in self.parts.items()}
        self.streams: dict[str, Tensor] = {}  # what entered every sub-layer,
        self.read: dict[str, Tensor] = {}  # and what its matrices saw of it
        most = max(self.groups.values())
        self.added = [self._new(self.dtype, most) for _ in range(2)]  # taken in turn

    def _new(self, dtype: torch.dtype, *first: int, last: int | None = None) -> Tensor:
        shape = (*first, *self.shape[:3], self.width if last is None else last)
        return torch.empty(shape, dtype=dtype, device=self.weights["mlp"][0].device)

    def _launch(self, kind: str) -> tuple[Any, ...]:
        """A kind's programs, what they read, and constants."""
        scale, *matrices = self.weights[kind]
        blocks = [_blocks(matrix, self.width) for matrix in matrices]
        grid = (self.members * self.rows, self.groups[kind])
        each = self.parts[kind] // self.groups[kind]
        constants = {"EACH": each, "CELLS": CELLS, "WIDTH": self.width}
        if kind == "mlp":
            return grid, [scale, *blocks], [], constants | {"BLOCKS": self.parts[kind]}
        biases, asked = self.biases[kind], self.asked if kind == "cross" else None
        heads = biases.shape[2]
        read = [
            _blocks(self.read[kind] if asked is None else asked, self.width, CELLS),
            scale,
            *blocks,
            _blocks(biases, CELLS),
        ]
        constants |= {"HEADS": self.parts[kind]}
        constants |= {"ACROSS": asked is not None, "LEARNED": self._learned(kind)}
        of_member, of_row = (heads * (count > 1) for count in biases.shape[:2])
        of_member *= biases.shape[1]
        rest = [of_member, of_row, self.logit_scale]
        return grid, read, rest, constants

    def _learned(self, kind: str) -> bool:
        """Whether a kind's biases are."""
        return kind == "self" and self.relative is not None

    def forward(self, stream: Tensor) -> Tensor:
        """The stream after the last layer."""
        self.streams = {kind: self._new(torch.float32, self.layers) for kind in self.kinds}
        self.read = {kind: self._new(self.dtype, self.layers) for kind in self.kinds}
        from espalier.nets.transformer import layer_kernels as kernels

        launches = {kind: self._launch(kind) for kind in self.kinds}
        ready = 0  # groups that added something
        out, added = self.added
        for layer in range(self.layers):
            for kind in self.kinds:
                grid, read, rest, constants = launches[kind]
                kernel = kernels.feed_forward if kind == "mlp" else kernels.attend
                kept = self.streams[kind][layer]
                kernel[grid](
                    out, kept, self.read[kind][layer], stream, added, *read,
                    self.rows, layer % self.own_layers, self.own_layers, self.whole, *rest,
                    ADDED=ready, **constants, **COMPILED,
                )  # fmt: skip
                stream, ready, out, added = kept, self.groups[kind], added, out
        return _sum(added[:ready]) + stream

    def backward(self, gradient: Tensor) -> list[Tensor | None]:
        """Gradients of the stream, what is asked, biases and weights."""
        from espalier.nets.transformer import layer_kernels as kernels

        launches = {kind: self._launch(kind) for kind in self.kinds}
        found = {kind: self._factors(kind) for kind in self.kinds}
        onward = [torch.empty_like(gradient) for _ in range(2)]
        ready = 0
        out, added = self.added
        for layer in reversed(range(self.layers)):
            for kind in reversed(self.kinds):
                grid, read, rest, constants = launches[kind]
                kernel = kernels.feed_forward_back if kind == "mlp" else kernels.attend_back
                kernel[grid](
                    out, onward[0], *self._left(found[kind], layer),
                    gradient, added, self.streams[kind][layer],
                    _blocks(self.read[kind][layer], self.width, CELLS), *read,
                    self.rows, layer % self.own_layers, self.own_layers, self.whole, *rest,
                    ADDED=ready, **constants, **COMPILED,
                )  # fmt: skip
                gradient, ready, out, added = onward[0], self.groups[kind], added, out
                onward.reverse()
        to_asked = to_relative = None
        if "cross" in found:
            to_asked = _sum(found["cross"]["asked"].flatten(0, 1)).to(self.dtype)
        if self.relative is not None:
            slopes = found["self"]["relative"]
            to_relative = slopes.sum((0, 2), dtype=torch.float32).to(self.dtype)
        whole = [one for kind in self.kinds for one in self._gradients(kind, found[kind])]
        return [_sum(added[:ready]) + gradient, to_asked, to_relative, *whole]

    def _left(self, factors: dict[str, Tensor], layer: int) -> list[Any]:
        """Where a kernel of the way back leaves factors: those of its parts in blocks."""
        sizes = {"relative": CELLS} | dict.fromkeys(_OF_PARTS, self.width)
        return [
            _blocks(one[layer], sizes[name], CELLS) if name in sizes else one[layer]
            for name, one in factors.items()
        ]

    def _factors(self, kind: str) -> dict[str, Tensor]:
        """What a kernel of the way back leaves in every layer, in its order."""
        groups, parts, layers = self.groups[kind], self.parts[kind], self.layers
        found = {"given": self._new(self.dtype, layers)}
        rows = self.members * self.rows
        size = (layers, groups, rows, self.width)
        found["scale"] = found["given"].new_empty(size, dtype=torch.float32)
        wide = ("hidden", "inner") if kind == "mlp" else ("carried", "query")
        if kind != "mlp":
            across = kind == "cross"
            found["asked"] = self._new(self.dtype, layers, groups) if across else found["given"]
        for name in wide:
            found[name] = self._new(self.dtype, layers, last=parts * self.width)
        if kind != "mlp":
            first = (self.members, self.rows, parts) if self._learned(kind) else (1,)
            found["relative"] = found["given"].new_empty(layers, *first, CELLS, CELLS)
        return found

    def _gradients(self, kind: str, factors: dict[str, Tensor]) -> list[Tensor]:
        """Of a kind's scale and its two matrices."""
        one, other = (
            factors[n] for n in (("query", "carried"), ("inner", "hidden"))[kind == "mlp"]
        )
        read, given = self.read[kind], factors["given"]
        scale = factors["scale"].unflatten(2, (self.members, -1)).sum((1, 3))
        first = _products(read, one)  # L E D J
        if kind != "mlp":
            first = first.unflatten(-1, (-1, self.width)).transpose(2, 3)
        last = _products(other, given)  # L E J D
        if kind != "mlp":
            last = last.unflatten(2, (-1, self.width))
        return [self._of_own_layers(found).to(self.dtype) for found in (scale, first, last)]

    def _of_own_layers(self, found: Tensor) -> Tensor:
        """Sums over layers that share their weights, members first."""
        if self.own_layers == self.layers:
            return found.transpose(0, 1)
        return found.unflatten(0, (-1, self.own_layers)).sum(0, dtype=torch.float32).transpose(0, 1)


def _products(one: Tensor, other: Tensor) -> Tensor:
    """Products over all positions of a member, layer by layer."""
    flat = [found.flatten(2, 3).flatten(0, 1) for found in (one, other)]
    return torch.bmm(flat[0].mT, flat[1]).unflatten(0, one.shape[:2])


def _blocks(matrix: Tensor, width: int, height: int | None = None) -> Any:
    """A matrix as kernels read and write it, block by block; other axes are in its first."""
    from triton.tools.tensor_descriptor import TensorDescriptor

    return TensorDescriptor.from_tensor(matrix.flatten(0, -2), [height or width, width])


def _sum(parts: Tensor) -> Tensor:
    return parts.sum(0, dtype=torch.float32)
