"""Plain MLPs with ReLU, many at once: weights stacked along a first axis E.

One of them can take the place of a compiled feed-forward sub-layer: `TrainedFeedForward`.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from espalier.nets.compiled.feedforward import Expansion
from espalier.nets.compiled.weights import ExpansionWeights
from espalier.nets.room import LAYER, refuse_beyond_memory

Weights = dict[str, Tensor]


def random_mlps(sizes: Sequence[int], seeds: Sequence[int], *, batch: int = 1) -> Weights:
    """First weights of an MLP for each seed, layer sizes from input to output.

    Normal with variance 1 / fan-in (LeCun et al. 1998); biases are zero. Refused where the weights,
    or what a step on a `batch` stores, do not fit into memory.
    """
    numbers = sum(max(a * b, LAYER) for a, b in itertools.pairwise(sizes)) + batch * sum(sizes)
    whose = f"training seeds: {len(seeds):,}, layers {len(sizes) - 1:,}, hidden {max(sizes):,}"
    refuse_beyond_memory(f"{whose}, batch {batch:,},", len(seeds) * numbers)
    weights: Weights = {}
    sources = [torch.Generator().manual_seed(seed) for seed in seeds]
    for layer, (inner, outer) in enumerate(itertools.pairwise(sizes)):
        drawn = [torch.randn(inner, outer, generator=source) for source in sources]
        weights[f"layer{layer}_weight"] = torch.stack(drawn) / inner**0.5
        weights[f"layer{layer}_bias"] = torch.zeros(len(seeds), outer)
    return weights


def apply_mlps(weights: Mapping[str, Tensor], x: Float[Tensor, "E P I"]) -> Float[Tensor, "E P O"]:
    """Every MLP's output on its own rows; ReLU between layers, none after the last."""
    layers = len(weights) // 2
    for layer in range(layers):
        bias = weights[f"layer{layer}_bias"].unsqueeze(1)
        x = torch.baddbmm(bias, x, weights[f"layer{layer}_weight"])
        if layer < layers - 1:
            x = x.relu()
    return x


class TrainedFeedForward(nn.Module):
    """f(z, its expansion): a trained MLP, next to the residual connection.

    The expansion is the compiled one, which turns numbers and sets into one-hot features.
    """

    def __init__(
        self, weights: Mapping[str, Float[Tensor, "1 ..."]], expansion: ExpansionWeights | None
    ) -> None:
        super().__init__()
        self.layers = nn.ParameterDict(weights)
        self.expansion = None if expansion is None else Expansion(expansion)

    @property
    def hidden(self) -> list[int]:
        """How many units each hidden layer has."""
        return [bias.shape[-1] for name, bias in self.layers.items() if name.endswith("bias")][:-1]

    def forward(self, z: Float[Tensor, "B N D"]) -> Float[Tensor, "B N D"]:
        """What the MLP adds to the residual stream."""
        flat = z.flatten(0, 1)
        change = apply_mlps(dict(self.layers.items()), see(flat, self.expansion)[None])[0]
        return change.view_as(z)


def see(z: Float[Tensor, "P D"], expansion: Expansion | None) -> Float[Tensor, "P I"]:
    """What an MLP is given: the residual stream, then the features made of it."""
    return z if expansion is None else torch.cat([z, expansion(z).to(z.dtype)], -1)
