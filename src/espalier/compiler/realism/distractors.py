"""Heads and units that are active and change no output: each writes a dimension of its own.

A distractor's head carries "is this variable one of these values?" under the query and key of one
of the program's heads; its first unit is a rule over two such questions whose value it writes, and
its second takes out what is there, so that a dimension stays between 0 and 2 however long a run.
No other part reads these dimensions. All weights are of the size that heads and rules have.
"""

from __future__ import annotations

import random
from dataclasses import replace

import torch

from espalier.compiler.expansion import widened
from espalier.compiler.layout import Layout
from espalier.language import Categorical, SetValued
from espalier.nets.compiled import HeadWeights, Sparse, Weights

Entries = list[tuple[int, int, float]]


def add_distractors(layout: Layout, weights: Weights) -> Weights:
    """The weights with the distractors that the layout has room for."""
    realism = layout.realism
    if realism is None or not layout.own:
        return weights
    dice, dtype = random.Random(realism.seed), weights.token_embedding.dtype
    heads = [_head(layout, weights, dimension, dice) for dimension in layout.own]
    mlp, first, bias, second = weights.feedforward, [], [], []
    unit = len(mlp.b1)
    for dimension in layout.own:
        asked = _questions(layout, dice, 2)
        columns = {column: 1.0 for question in asked for column in question}
        reads, low = widened(columns, 1.0 - len(asked), realism.ramp)
        first += [(unit, column, weight) for column, weight in reads.items()]
        first.append((unit + 1, dimension, 0.5))
        bias += [low, 0.0]
        second += [(dimension, unit, 1.0), (dimension, unit + 1, -2.0)]
        unit += 2
    return replace(
        weights,
        heads=(*weights.heads, *heads),
        feedforward=replace(
            mlp,
            w1=_joined(mlp.w1, (unit, mlp.w1.shape[1]), first, dtype),
            b1=torch.cat([mlp.b1, torch.tensor(bias, dtype=dtype)]),
            w2=_joined(mlp.w2, (mlp.w2.shape[0], unit), second, dtype),
        ),
    )


def _head(layout: Layout, weights: Weights, dimension: int, dice: random.Random) -> HeadWeights:
    """A head that asks as one of the others does, and carries the answer to a question."""
    dtype, width = weights.token_embedding.dtype, layout.width
    output = Sparse.of((width, 1), [(dimension, 0, 1.0)], dtype)
    value = Sparse.of((1, width), [(0, d, 1.0) for d in _questions(layout, dice, 1)[0]], dtype)
    asking = dice.choice(weights.heads) if weights.heads else None
    if asking is not None:
        return replace(asking, value=value, output=output, mean=None)
    scale = float((layout.realism and layout.realism.sharpness) or 256.0)
    asked, answered = (_questions(layout, dice, 1)[0][:1] for _ in range(2))
    query = Sparse.of((1, width), [(0, d, scale) for d in asked], dtype)
    key = Sparse.of((1, width), [(0, d, 1.0) for d in answered], dtype)
    return HeadWeights(query, key, value, output, scale / 2)


def _questions(layout: Layout, dice: random.Random, count: int) -> list[list[int]]:
    """Dimensions of up to `count` variables, of each some of which at most one is 1 at a time."""
    known = [
        (name, spec)
        for name, spec in layout.program.specs.items()
        if name not in layout.program.heads and isinstance(spec, Categorical | SetValued)
    ]
    found = []
    for name, spec in dice.sample(known, min(count, len(known))):  # the output, at least
        dimensions = list(layout.dimensions(name))
        most = max(1, len(dimensions) // 2) if isinstance(spec, Categorical) else 1
        found.append(sorted(dice.sample(dimensions, dice.randint(1, most))))
    return found


def _joined(matrix: Sparse, shape: tuple[int, int], more: Entries, dtype: torch.dtype) -> Sparse:
    """A matrix with more entries, in a larger shape."""
    old = zip(matrix.rows.tolist(), matrix.columns.tolist(), matrix.values.tolist(), strict=True)
    return Sparse.of(shape, [*old, *more], dtype)
