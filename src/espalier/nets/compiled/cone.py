"""Which residual dimensions halting depends on, through heads and the MLP."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from espalier.nets.compiled.weights import ExpansionWeights, Sparse, Weights


def halting_dimensions(weights: Weights) -> Int[Tensor, " H"]:
    """The residual dimensions that decide, in however many layers, when a sequence halts."""
    found = torch.zeros(weights.token_embedding.shape[1], dtype=torch.bool)
    if weights.halt is not None:
        direction = weights.halt.direction
        found[weights.halt.dimension if direction is None else direction != 0] = True
    while True:
        before = int(found.sum())
        for head in weights.heads:
            if bool(found[head.output.rows].any()):
                for matrix in (head.query, head.key, head.value):
                    found[matrix.columns] = True
        mlp = weights.feedforward
        seen = _read(mlp.w1, _read(mlp.w2, found))
        found |= seen[: len(found)]
        if mlp.expansion is not None:
            found |= _expanded(mlp.expansion, seen[len(found) :])
        if int(found.sum()) == before:
            return found.nonzero()[:, 0]


def _expanded(expansion: ExpansionWeights, features: Bool[Tensor, " X"]) -> Bool[Tensor, " D"]:
    """The dimensions that these features are made of."""
    units = _read(expansion.outer, features)
    if expansion.middle is not None:
        units = _read(expansion.middle, units)
    return _read(expansion.inner, units)


def _read(matrix: Sparse, rows: Bool[Tensor, " R"]) -> Bool[Tensor, " C"]:
    """The columns with an entry in one of these rows."""
    columns = torch.zeros(matrix.shape[1], dtype=torch.bool)
    columns[matrix.columns[rows[matrix.rows]]] = True
    return columns
