"""Launches of a narrow stack's kernels: every sub-layer forward, then back.

A sub-layer is of a kind, "self", "cross" or "mlp", and has parts: heads, or as many of an MLP's
dimensions as the stream has. Programs share them out, a group of parts to each.

E members, R rows, C positions of a row, D residual, H heads, O layers with weights of their own,
L layers, J all parts side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

CELLS = 64  # positions of a row
PROGRAMS = 240  # at least, where a sub-layer can be cut into so many
# Two programs share one of an H200's processors then, and one loads while the other multiplies.
COMPILED = {"num_warps": 4, "num_stages": 1}

# Of the gradients of a kind's matrices the factors that have all its parts, in the order of its
# kernel: the second matrix's is multiplied by what was given back, the first's by what was read.
FACTORS = {
    "self": ("carried", "query"),
    "cross": ("carried", "query"),
    "mlp": ("hidden", "inner"),
}


@dataclass(frozen=True, eq=False)
class Plan:
    """What is done to a stream: kinds in the order of a layer, and who does not see whom."""

    layers: int
    logit_scale: float
    kinds: tuple[str, ...]
    masks: dict[str, Float[Tensor, "e r C C"]]


class _Launch(NamedTuple):
    """What the launches of a kind have in common."""

    grid: tuple[int, int]
    read: list[Any]
    numbers: list[float]
    constants: dict[str, int]


def groups_of(rows: int, parts: int) -> int:
    """Into how many groups a sub-layer's parts are cut: few, but enough programs for a device.

    >>> groups_of(64, 8), groups_of(40, 8), groups_of(320, 8), groups_of(1, 4)
    (4, 8, 1, 4)
    """
    divisors = [count for count in range(1, parts + 1) if parts % count == 0]
    return next((count for count in divisors if rows * count >= PROGRAMS), parts)


class Stack:
    """One stack of layers with all that its kernels read; `flat` has three tensors of each kind."""

    def __init__(
        self,
        plan: Plan,
        stream: Float[Tensor, "E R C D"],
        asked: Float[Tensor, "E R C D"] | None,
        relative: Float[Tensor, "E H C C"] | None,
        flat: Sequence[Tensor],
    ) -> None:
        self.layers, self.logit_scale, self.kinds = plan.layers, plan.logit_scale, plan.kinds
        self.asked, self.relative = asked, relative
        self.biases = {kind: mask.unsqueeze(2) for kind, mask in plan.masks.items()}
        if relative is not None:
            self.biases["self"] = self.biases["self"] + relative.unsqueeze(1)
        self.weights = {kind: flat[3 * n : 3 * n + 3] for n, kind in enumerate(self.kinds)}
        self.shape, self.whole = stream.shape, stream.numel()
        self.members, self.rows, _, self.width = stream.shape
        self.own_layers, self.dtype = flat[0].shape[1], flat[0].dtype
        self.parts = {kind: parts[2].shape[2] for kind, parts in self.weights.items()}
        self.parts["mlp"] //= self.width
        every = self.members * self.rows
        self.groups = {kind: groups_of(every, parts) for kind, parts in self.parts.items()}
        self.streams: dict[str, Tensor] = {}  # what entered every sub-layer,
        self.read: dict[str, Tensor] = {}  # and what its matrices saw of it
        most = max(self.groups.values())
        self.added = [self._new(self.dtype, most) for _ in range(2)]  # taken in turn

    def forward(self, stream: Float[Tensor, "E R C D"]) -> Float[Tensor, "E R C D"]:
        """The stream after the last layer."""
        from espalier.nets.transformer import layer_kernels as kernels

        self.streams = {kind: self._new(torch.float32, self.layers) for kind in self.kinds}
        self.read = {kind: self._new(self.dtype, self.layers) for kind in self.kinds}
        launches = {kind: self._launch(kind) for kind in self.kinds}
        ready = 0  # groups that added something
        out, added = self.added
        for layer in range(self.layers):
            for kind in self.kinds:
                launch, entered = launches[kind], self.streams[kind][layer]
                kernel = kernels.feed_forward if kind == "mlp" else kernels.attend
                kernel[launch.grid](
                    out, entered, self.read[kind][layer], stream, added, *launch.read,
                    self.rows, layer % self.own_layers, self.own_layers, self.whole,
                    *launch.numbers, ADDED=ready, **launch.constants, **COMPILED,
                )  # fmt: skip
                stream, ready, out, added = entered, self.groups[kind], added, out
        return _sum(added[:ready]) + stream

    def backward(self, gradient: Float[Tensor, "E R C D"]) -> list[Tensor | None]:
        """Gradients of the stream, what is asked, biases and weights."""
        from espalier.nets.transformer import layer_kernels as kernels

        launches = {kind: self._launch(kind) for kind in self.kinds}
        found = {kind: self._factors(kind) for kind in self.kinds}
        onward = [torch.empty_like(gradient) for _ in range(2)]  # taken in turn
        ready = 0
        out, added = self.added
        for layer in reversed(range(self.layers)):
            for kind in reversed(self.kinds):
                launch = launches[kind]
                kernel = kernels.feed_forward_back if kind == "mlp" else kernels.attend_back
                kernel[launch.grid](
                    out, onward[0], *self._left(found[kind], layer),
                    gradient, added, self.streams[kind][layer],
                    _blocks(self.read[kind][layer], self.width, CELLS), *launch.read,
                    self.rows, layer % self.own_layers, self.own_layers, self.whole,
                    *launch.numbers, ADDED=ready, **launch.constants, **COMPILED,
                )  # fmt: skip
                gradient, ready, out, added = onward[0], self.groups[kind], added, out
                onward.reverse()
        to_asked = to_relative = None
        if "cross" in found:
            to_asked = _sum(found["cross"]["asked"].flatten(0, 1)).to(self.dtype)
        if self.relative is not None:
            slopes = found["self"]["relative"]
            to_relative = slopes.sum((0, 2), dtype=torch.float32).to(self.dtype)
        to_weights = [one for kind in self.kinds for one in self._gradients(kind, found[kind])]
        return [_sum(added[:ready]) + gradient, to_asked, to_relative, *to_weights]

    def _new(self, dtype: torch.dtype, *first: int, last: int | None = None) -> Tensor:
        """Room for a stream, or for so many, of another width where it is given."""
        shape = (*first, *self.shape[:3], self.width if last is None else last)
        return torch.empty(shape, dtype=dtype, device=self.weights["mlp"][0].device)

    def _learned(self, kind: str) -> bool:
        """Whether a kind's biases are."""
        return kind == "self" and self.relative is not None

    def _launch(self, kind: str) -> _Launch:
        scale, *matrices = self.weights[kind]
        read = [scale, *(_blocks(matrix, self.width) for matrix in matrices)]
        parts, groups = self.parts[kind], self.groups[kind]
        grid = (self.members * self.rows, groups)
        constants = {"EACH": parts // groups, "CELLS": CELLS, "WIDTH": self.width}
        if kind == "mlp":
            return _Launch(grid, read, [], constants | {"BLOCKS": parts})
        asked, biases = self.asked if kind == "cross" else None, self.biases[kind]
        keys = self.read[kind] if asked is None else asked  # the former are not looked at
        read = [_blocks(keys, self.width, CELLS), *read, _blocks(biases, CELLS)]
        members, rows, heads = biases.shape[:3]
        of_member, of_row = rows * heads * (members > 1), heads * (rows > 1)
        constants |= {"HEADS": parts}
        constants |= {"ACROSS": asked is not None, "LEARNED": self._learned(kind)}
        return _Launch(grid, read, [of_member, of_row, self.logit_scale], constants)

    def _factors(self, kind: str) -> dict[str, Tensor]:
        """What a backward kernel leaves in every layer, in its order."""
        groups, parts, layers = self.groups[kind], self.parts[kind], self.layers
        given = self._new(self.dtype, layers)
        size = (layers, groups, self.members * self.rows, self.width)
        found = {"given": given, "scale": given.new_empty(size, dtype=torch.float32)}
        if kind != "mlp":
            across = kind == "cross"
            found["asked"] = self._new(self.dtype, layers, groups) if across else given
        for name in FACTORS[kind]:
            found[name] = self._new(self.dtype, layers, last=parts * self.width)
        if kind != "mlp":
            first = (self.members, self.rows, parts) if self._learned(kind) else (1,)
            found["relative"] = given.new_empty(layers, *first, CELLS, CELLS)
        return found

    def _left(self, factors: dict[str, Tensor], layer: int) -> list[Any]:
        """Where a backward kernel leaves factors: those of its parts in blocks."""
        widths = dict.fromkeys(sum(FACTORS.values(), ()), self.width) | {"relative": CELLS}
        return [
            _blocks(one[layer], widths[name], CELLS) if name in widths else one[layer]
            for name, one in factors.items()
        ]

    def _gradients(self, kind: str, factors: dict[str, Tensor]) -> list[Tensor]:
        """Of a kind's scale and its two matrices."""
        of_second, of_first = (factors[name] for name in FACTORS[kind])
        scale = factors["scale"].unflatten(2, (self.members, -1)).sum((1, 3))
        first = _products(self.read[kind], of_first)  # L E D J
        second = _products(of_second, factors["given"])  # L E J D
        if kind != "mlp":  # heads apart
            first = first.unflatten(-1, (-1, self.width)).transpose(2, 3)
            second = second.unflatten(2, (-1, self.width))
        return [self._of_own_layers(found).to(self.dtype) for found in (scale, first, second)]

    def _of_own_layers(self, found: Float[Tensor, "L E *any"]) -> Float[Tensor, "E O *any"]:
        """Sums over layers that share their weights."""
        if self.own_layers == self.layers:
            return found.transpose(0, 1)
        shared: Tensor = found.unflatten(0, (-1, self.own_layers))
        return shared.sum(0, dtype=torch.float32).transpose(0, 1)


def _products(
    one: Float[Tensor, "L E R C I"], other: Float[Tensor, "L E R C J"]
) -> Float[Tensor, "L E I J"]:
    """Products over all positions of a member, layer by layer."""
    flat = [found.flatten(2, 3).flatten(0, 1) for found in (one, other)]
    found: Tensor = torch.bmm(flat[0].mT, flat[1]).unflatten(0, one.shape[:2])
    return found


def _blocks(matrix: Tensor, width: int, height: int | None = None) -> Any:
    """A matrix as kernels read and write it, block by block; other axes are in its first."""
    from triton.tools.tensor_descriptor import TensorDescriptor

    return TensorDescriptor.from_tensor(matrix.flatten(0, -2), [height or width, width])


def _sum(parts: Tensor) -> Tensor:
    return parts.sum(0, dtype=torch.float32)
