"""A textbook Transformer, encoder or decoder: dense matrices, loops over positions, nothing clever.

Reads the same `Weights` as the runtime and shares no code with it.
"""

from __future__ import annotations

import math
from fractions import Fraction

import torch
from torch import Tensor

from espalier.nets.compiled.weights import FeedForwardWeights, HeadWeights, MeanWeights, Weights


def attend(head: HeadWeights, z: Tensor, *, causal: bool = False) -> Tensor:
    """What one head adds to the stream of one sequence (N x D)."""
    query, key = z @ head.query.dense().T, z @ head.key.dense().T
    value, output = z @ head.value.dense().T, head.output.dense().T
    rows = []
    for i in range(len(z)):
        seen = range(i + 1 if causal else len(z))
        logits = [float(query[i] @ key[j]) + _bias(head, j - i) for j in seen]
        top = max([*logits, head.sink])
        powers = [math.exp(logit - top) for logit in logits]
        total = sum(powers) + math.exp(head.sink - top)
        pairs = list(zip(powers, value, strict=not causal))
        carried = sum((p / total) * v for p, v in pairs)
        if head.mean is not None:
            sums = sum(p * v for p, v in pairs)
            carried = mean(head.mean, sums) if top > head.sink else torch.zeros_like(sums)
        rows.append(carried @ output)
    return torch.stack(rows)


def mean(weights: MeanWeights, sums: Tensor) -> Tensor:
    """Sums divided by the last of them; or, as the digits of one number, in whole numbers."""
    *digits, count = map(Fraction, sums.tolist())
    if weights.base is None:
        return torch.tensor([*(float(d / count) for d in digits), 1.0], dtype=sums.dtype)
    base, number = int(weights.base), Fraction(0)
    for digit in digits:
        number = number * base + digit
    whole, found = math.ceil(number / count), []
    for _ in digits[1:]:
        whole, digit = divmod(whole, base)
        found.insert(0, digit)
    return torch.tensor([whole, *found, 1], dtype=sums.dtype)


def _bias(head: HeadWeights, offset: int) -> float:
    if head.relative_bias is None:
        return 0.0
    place = offset - head.relative_bias.first
    inside = 0 <= place < len(head.relative_bias.table)
    return float(head.relative_bias.table[place]) if inside else -math.inf


def feed_forward(weights: FeedForwardWeights, z: Tensor) -> Tensor:
    """What the MLP adds to the stream of one sequence."""
    seen = z
    if weights.expansion is not None:
        wide = weights.expansion
        inner = (z.to(wide.inner_bias.dtype) @ wide.inner.dense().T + wide.inner_bias).clamp(0, 1)
        if wide.middle is not None:
            inner = (inner @ wide.middle.dense().T + wide.middle_bias).clamp(0, 1)
        outer = (inner @ wide.outer.dense().T + wide.outer_bias).clamp(0, 1)
        seen = torch.cat([z, outer.to(z.dtype)], -1)
    return (seen @ weights.w1.dense().T + weights.b1).clamp(0, 1) @ weights.w2.dense().T


def run(weights: Weights, tokens: list[int], max_layers: int | None) -> tuple[list[int], int]:
    """Outputs and number of layers for one sequence."""
    z = weights.token_embedding[tokens]
    if weights.position_embedding is not None:
        z = z + weights.position_embedding[: len(tokens)]
    layers = 0
    while layers != max_layers:
        layers += 1
        before, causal = z, weights.causal
        z = z + sum((attend(h, z, causal=causal) for h in weights.heads), torch.zeros_like(z))
        z = z + feed_forward(weights.feedforward, z)
        if causal and weights.halt is not None and layers > 1:
            for i, row in enumerate(before):
                z[i] = row if row[weights.halt.dimension] > 0.5 else z[i]
        if weights.halt is not None and bool((z[:, weights.halt.dimension] > 0.5).all()):
            break
    return (z @ weights.unembedding.dense().T).argmax(-1).tolist(), layers
