"""Trained Transformers that answer inputs: stacked weights of one shape, and how to run them.

They compute as they did when their run measured them: on CUDA or a CPU, in the precision they were
trained with. Inputs are answered in batches, bounded by memory.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self, overload

import torch
from torch import Tensor

from espalier.errors import ModelError
from espalier.nets.transformer import TransformerShape, Weights, cast
from espalier.runs import Snapshot
from espalier.training.configs import StepRecipe

# Numbers of a layer that are computed at a time, over all members: what a CPU's cache holds.
CELLS, CPU_CELLS = 1 << 26, 1 << 22


@dataclass(frozen=True, eq=False, repr=False)
class Transformers(Sequence["Transformers"]):
    """Transformers of one shape with stacked weights; each of them alone by its number."""

    names: tuple[str, ...]
    shape: TransformerShape
    recipe: StepRecipe
    weights: Weights

    @classmethod
    def of(cls, weights: Snapshot, recipe: StepRecipe, device: torch.device) -> Self:
        """Those of a checkpoint, on a device."""
        return cls(
            tuple(json.loads(weights.metadata["members"])),
            TransformerShape(**json.loads(weights.metadata["shape"])),
            recipe,
            {name: tensor.to(device) for name, tensor in weights.tensors.items()},
        )

    @abstractmethod
    def ask(self, inputs: Sequence[str]) -> list[list[str]]:
        """For each member its answer to every input."""

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, number: int) -> Self: ...
    @overload
    def __getitem__(self, number: slice) -> Self: ...
    def __getitem__(self, number: int | slice) -> Self:
        if isinstance(number, int):
            number = range(len(self))[number]  # raises where there is none
            number = slice(number, number + 1)
        own = {name: tensor[number] for name, tensor in self.weights.items()}
        return replace(self, names=self.names[number], weights=own)

    def __repr__(self) -> str:
        return f"{len(self)} {type(self).__name__} of {self.shape.layers} layers"

    def at_once(self, positions: int) -> int:
        """How many inputs of that many positions fit into memory."""
        device = next(iter(self.weights.values())).device
        return at_once(self.shape, len(self), positions, device=device)

    def refuse_long(self, asked: Sequence[str], sizes: Sequence[int], most: int) -> None:
        """Raise if an input is longer than there are absolute positions."""
        if self.shape.positions == "relative" or max(sizes) <= most:
            return
        text, size = max(zip(asked, sizes, strict=True), key=lambda one: one[1])
        raise ModelError(
            f"{text!r} has a length of {size}; these models have absolute positions for {most}"
        )


def at_once(shape: TransformerShape, members: int, positions: int, *, device: torch.device) -> int:
    """How many inputs of that many positions are read together: attention, or the MLP, is widest.

    >>> shape, device = TransformerShape(vocabulary=3, outputs=2), torch.device("cpu")
    >>> at_once(shape, members=5, positions=41, device=device)
    9
    """
    cells = CPU_CELLS if device.type == "cpu" else CELLS
    return max(1, cells // (members * positions * max(shape.heads * positions, shape.hidden)))


def in_precision(weights: Mapping[str, Tensor], recipe: StepRecipe) -> Weights:
    """The weights in the recipe's precision."""
    return cast(weights, torch.bfloat16) if recipe.precision == "bfloat16" else dict(weights)


def listed(asked: Sequence[str], what: str) -> list[str]:
    """The inputs, one at least; a single string would be taken for its letters."""
    found = [] if isinstance(asked, str) else list(asked)
    if not found:
        raise ModelError(f"{what} are given as a list with one at least; found {asked!r}")
    return found
