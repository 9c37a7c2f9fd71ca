"""All layers of a wide encoder as few kernels, its inputs end to end, for training on CUDA.

Products are left to torch; what surrounds them reads and writes the stream once. Gradients of
matrices that layers share are summed by the products themselves.

E members, B inputs, T cells of a member, D residual, F hidden, H heads, I all of them side by side,
J three times that, O layers with weights of their own, N positions of the longest input.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from espalier.nets.transformer.short_attention import LONGEST, MOST, WIDTHS, has_kernels

if TYPE_CHECKING:
    from espalier.nets.transformer.end_to_end import EndToEnd
    from espalier.nets.transformer.model import TransformerShape

EACH, BACK = 4, 8  # cells of a program at a time, and in all in a norm's backward pass
NUMBERS = 2048  # of a program of an activation


class EncoderWeights(NamedTuple):
    """An encoder's, or a layer's of it without the axis O, or their gradients."""

    scale: Float[Tensor, "E O D"]
    asking: Float[Tensor, "E O D J"]  # queries, keys and values side by side
    output: Float[Tensor, "E O I D"]
    mlp_scale: Float[Tensor, "E O D"]
    inner: Float[Tensor, "E O D F"]
    outer: Float[Tensor, "E O F D"]

    @classmethod
    def of(cls, weights: Mapping[str, Tensor]) -> EncoderWeights:
        """Those of a Transformer's encoder, from all of its weights by name."""
        attention = [weights[f"encoder.self.{part}"] for part in ("query", "key", "value")]
        return cls(
            scale=weights["encoder.self.scale"],
            asking=torch.cat(attention, -1),
            output=weights["encoder.self.output"],
            mlp_scale=weights["encoder.mlp.scale"],
            inner=weights["encoder.mlp.inner"],
            outer=weights["encoder.mlp.outer"],
        )


class Sizes(NamedTuple):
    """Of a batch: members, inputs of each, positions of the longest, and cells of a member."""

    members: int
    inputs: int
    longest: int
    cells: int


def is_wide(
    shape: TransformerShape, sizes: Sizes, dtype: torch.dtype, device: torch.device
) -> bool:
    """Whether these kernels can train such encoders on such batches."""
    members, inputs, longest, cells = sizes
    widest = max(shape.width, shape.hidden, 3 * shape.heads * shape.head_width)
    biases = members * inputs * shape.heads * longest * longest
    return (
        device.type == "cuda"
        and has_kernels((8, 0))
        and dtype == torch.bfloat16
        and shape.head_width in WIDTHS
        and longest <= LONGEST
        and max(members * cells * widest, biases) < MOST
    )


def run_wide(
    stream: Float[Tensor, "E T D"],
    weights: EncoderWeights,
    rows: EndToEnd,
    *,
    layers: int,
    heads: int,
    longest: int,
    relative: Float[Tensor, "E H N N"] | None = None,
) -> Float[Tensor, "E T D"]:
    """The stream after all layers; `relative` is added to every layer's logits."""
    cells = torch.arange(len(stream), device=stream.device).unsqueeze(1) * stream.shape[1]
    plan = _Plan(layers, heads, longest, (rows.starts + cells).int(), rows.lengths.int())
    found: Tensor = _Layers.apply(plan, stream, relative, *weights)
    return found


@dataclass(frozen=True, eq=False)
class _Plan:
    layers: int
    heads: int
    longest: int
    starts: Int[Tensor, "E B"]  # among the cells of all members
    lengths: Int[Tensor, "E B"]


@dataclass(eq=False)
class _Saved:
    """What a layer's backward pass needs of its forward pass: streams, and what products read."""

    streams: list[Tensor]
    read: list[Tensor]
    asking: Tensor
    carried: Tensor
    entered: Tensor
    hidden: Tensor


class _Layers(torch.autograd.Function):
    """Sub-layer after sub-layer. Gradients of matrices go where they belong, not through sums."""

    @staticmethod
    def forward(
        ctx: Any, plan: _Plan, stream: Tensor, relative: Tensor | None, *weights: Tensor
    ) -> Tensor:
        stack = _Stack(plan, relative, EncoderWeights(*weights))
        with torch.cuda.device_of(stream):
            found, ctx.saved = stack.forward(stream.contiguous())
        ctx.plan = plan
        ctx.save_for_backward(relative, *weights)
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        relative, *weights = ctx.saved_tensors
        if not ctx.saved:
            raise RuntimeError("gradients through these layers can be taken once for each pass")
        stack = _Stack(ctx.plan, relative, EncoderWeights(*weights))
        own = gradient.clone(memory_format=torch.contiguous_format)
        with torch.cuda.device_of(gradient):
            return None, *stack.backward(own, ctx.saved)


class _Stack:
    """The layers with their weights, each with axes of members and own layers."""

    def __init__(self, plan: _Plan, relative: Tensor | None, weights: EncoderWeights) -> None:
        self.plan, self.relative, self.weights = plan, relative, weights
        self.own = weights.scale.shape[1]

    def of(self, layer: int) -> EncoderWeights:
        """A layer's weights."""
        return EncoderWeights(*(one[:, layer % self.own] for one in self.weights))

    def forward(self, z: Float[Tensor, "E T D"]) -> tuple[Float[Tensor, "E T D"], list[_Saved]]:
        """The stream after the last layer, and what every layer's backward pass needs."""
        saved: list[_Saved] = []
        added: Tensor | None = None
        for layer in range(self.plan.layers):
            own = self.of(layer)
            first, x = _add_and_norm(z, added, own.scale)
            asking = torch.bmm(x, own.asking)
            carried = self._attend(asking)
            z, y = _add_and_norm(first, torch.bmm(carried, own.output), own.mlp_scale)
            entered = torch.bmm(y, own.inner)
            hidden = _gelu(entered)
            added = torch.bmm(hidden, own.outer)
            saved.append(_Saved([first, z], [x, y], asking, carried, entered, hidden))
        return z if added is None else z + added, saved

    def backward(self, gradient: Tensor, saved: list[_Saved]) -> list[Tensor | None]:
        """Gradients of the stream, biases and weights; that of the stream is changed in place."""
        found = EncoderWeights(*(torch.empty_like(one) for one in self.weights))
        scales: list[Tensor] = []  # from the last layer to the first
        mlp_scales: list[Tensor] = []
        given = gradient.to(self.weights.outer.dtype)
        size = (*self.plan.lengths.shape, self.plan.heads, self.plan.longest, self.plan.longest)
        to_bias = gradient.new_zeros(size if self.relative is not None else 0)
        to_asking = torch.zeros_like(saved[0].asking)  # as of cells without an input, always
        for layer in reversed(range(self.plan.layers)):
            now, own = saved.pop(), self.of(layer)
            self._add(found.outer, layer, now.hidden, given)
            to_hidden = torch.bmm(given, own.outer.mT)
            _gelu_back(to_hidden, now.entered)
            self._add(found.inner, layer, now.read[1], to_hidden)
            to_read = torch.bmm(to_hidden, own.inner.mT)
            parts = _back_through_norm(gradient, given, to_read, now.streams[1], own.mlp_scale)
            mlp_scales.append(parts)
            self._add(found.output, layer, now.carried, given)
            to_carried = torch.bmm(given, own.output.mT)
            self._attend_back(to_asking, to_bias, to_carried, now.asking)
            self._add(found.asking, layer, now.read[0], to_asking)
            to_read = torch.bmm(to_asking, own.asking.mT)
            scales.append(_back_through_norm(gradient, given, to_read, now.streams[0], own.scale))
        found = found._replace(scale=self._of_scales(scales), mlp_scale=self._of_scales(mlp_scales))
        to_relative = None
        if self.relative is not None:
            to_relative = to_bias.sum(1).to(self.relative.dtype)
        return [gradient, to_relative, *found]

    def _add(self, found: Tensor, layer: int, read: Tensor, given: Tensor) -> None:
        """The gradient of a layer's matrix, added to those of others that share it."""
        own = found[:, layer % self.own]
        if layer + self.own >= self.plan.layers:  # the first that is looked at
            torch.bmm(read.mT, given, out=own)
        else:
            own.baddbmm_(read.mT, given)

    def _of_scales(self, parts: list[Tensor]) -> Float[Tensor, "E O D"]:
        """Sums over programs, and over layers that share their weights."""
        every = torch.stack(parts[::-1]).sum(2)  # L E D
        summed: Tensor = every.unflatten(0, (-1, self.own)).sum(0).transpose(0, 1)
        return summed.to(self.weights.scale.dtype)

    def _attend(self, asking: Float[Tensor, "E T J"]) -> Float[Tensor, "E T I"]:
        from espalier.nets.transformer.attention_kernels import forward

        carried = asking.new_zeros(*asking.shape[:2], asking.shape[2] // 3)
        grid, read, constants = self._launch(asking)
        forward[grid](carried, *read, **constants)
        return carried

    def _attend_back(
        self, found: Tensor, to_bias: Tensor, gradient: Tensor, asking: Float[Tensor, "E T J"]
    ) -> None:
        """Overwrite the gradient of what asks, and add to that of biases."""
        from espalier.nets.transformer.attention_kernels import backward

        grid, read, constants = self._launch(asking)
        given = (gradient, found, found, to_bias)
        learned = self.relative is not None
        backward[grid](*given, *read, LEARNED=learned, ADDED=True, **constants)

    def _launch(self, asking: Float[Tensor, "E T J"]) -> tuple[tuple[int], list[Any], Any]:
        """A program for every head of an input."""
        plan = self.plan
        (members, batch), heads, longest = plan.lengths.shape, plan.heads, plan.longest
        numbers = asking.shape[2]
        biases = self.relative
        if biases is None:
            biases = asking.new_zeros(1, 1, longest, longest, dtype=torch.float32)
        spread = biases.contiguous().unsqueeze(1).expand(members, batch, heads, longest, longest)
        read = [asking, asking, spread, plan.starts, plan.lengths, batch, heads, longest, longest]
        read += [numbers, numbers, 1 / math.sqrt(numbers // 3 // heads), *spread.stride()[:4]]
        block = max(16, 1 << (longest - 1).bit_length())
        constants = {"RAGGED": True, "ASKS": block, "SEEN": block, "num_warps": block // 16}
        return (members * batch * heads,), read, constants | {"WIDTH": numbers // 3 // heads}


def _add_and_norm(
    stream: Float[Tensor, "E T D"], added: Float[Tensor, "E T D"] | None, scale: Tensor
) -> tuple[Float[Tensor, "E T D"], Float[Tensor, "E T D"]]:
    """The stream with what was added, and what a sub-layer's matrices read of it."""
    from espalier.nets.transformer.wide_kernels import enter

    found = stream if added is None else torch.empty_like(stream)
    read = torch.empty_like(stream, dtype=scale.dtype)
    grid, numbers, constants = _over_cells(stream, scale, EACH)
    enter[grid](
        found, read, stream, read if added is None else added, *numbers,
        ADDED=added is not None, **constants,
    )  # fmt: skip
    return found, read


def _back_through_norm(
    gradient: Tensor, given: Tensor, to_read: Tensor, stream: Tensor, scale: Tensor
) -> Float[Tensor, "E P D"]:
    """Add to a gradient what comes through a norm; the norm's own, a part for each program."""
    from espalier.nets.transformer.wide_kernels import leave

    grid, numbers, constants = _over_cells(stream, scale, BACK)
    parts = gradient.new_empty(grid[1], grid[0], stream.shape[2])
    leave[grid](gradient, given, parts, to_read, stream, *numbers, CELLS=BACK, **constants)
    return parts


def _over_cells(
    stream: Float[Tensor, "E T D"], scale: Tensor, each: int
) -> tuple[tuple[int, int], list[Any], dict[str, int]]:
    """A program for so many cells of a member."""
    members, cells, width = stream.shape
    constants = {"EACH": EACH, "WIDTH": width, "BLOCK": 1 << (width - 1).bit_length()}
    return (-(-cells // each), members), [scale, cells, scale.stride(0)], constants


def _gelu(entered: Tensor) -> Tensor:
    from espalier.nets.transformer.wide_kernels import gelu

    found = torch.empty_like(entered)
    size = entered.numel()
    gelu[(-(-size // NUMBERS),)](found, entered, size, BLOCK=NUMBERS)
    return found


def _gelu_back(gradient: Tensor, entered: Tensor) -> None:
    from espalier.nets.transformer.wide_kernels import gelu_back

    size = entered.numel()
    gelu_back[(-(-size // NUMBERS),)](gradient, entered, size, BLOCK=NUMBERS)
