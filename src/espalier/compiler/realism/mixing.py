"""Clean weights as those of a stream with a basis: whatever reads is multiplied by the read-out,
whatever writes by the directions. Noise comes last, on every matrix but not on biases or sinks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from espalier.compiler.basis import Basis
from espalier.compiler.layout import Layout
from espalier.nets.compiled import HaltWeights, HeadWeights, Sparse, Weights

# Two streams that differ by less than this share of any difference that matters hold the same.
NEARNESS = 2.0**-10


def mix(layout: Layout, weights: Weights) -> Weights:
    """The weights of the network whose stream holds the same meanings in other directions."""
    realism, basis = layout.realism, layout.basis
    assert realism is not None
    assert basis is not None
    mixer = _Mixer(basis, weights.token_embedding.dtype, realism.noise, realism.seed)
    mlp = weights.feedforward
    expansion = mlp.expansion
    positions = weights.position_embedding
    return replace(
        weights,
        token_embedding=mixer.table(weights.token_embedding),
        position_embedding=None if positions is None else mixer.table(positions),
        heads=tuple(mixer.head(head) for head in weights.heads),
        feedforward=replace(
            mlp,
            expansion=expansion
            and replace(
                expansion,
                inner=mixer.reader(expansion.inner),
                middle=expansion.middle and mixer.between(expansion.middle),
                outer=mixer.between(expansion.outer),
            ),
            w1=mixer.reader(mlp.w1),
            w2=mixer.writer(mlp.w2),
        ),
        unembedding=mixer.reader(weights.unembedding),
        halt=weights.halt and _halt(layout, weights.halt, mixer),
    )


def _halt(layout: Layout, halt: HaltWeights, mixer: _Mixer) -> HaltWeights:
    row = Sparse.of((1, layout.width), [(0, halt.dimension, 1.0)], mixer.dtype)
    direction = mixer.reader(row).dense()[0]
    gaps = [float(high - low) for form in layout.formats.values() for low, high in form.edges]
    return HaltWeights(halt.dimension, direction, NEARNESS * min([1.0, *gaps]))


@dataclass
class _Mixer:
    """Rewrites matrices one after another; the same seed gives the same noise."""

    basis: Basis
    dtype: torch.dtype
    noise: float
    seed: int

    def __post_init__(self) -> None:
        self._source = torch.Generator().manual_seed(self.seed)
        self._is_plain = self.basis.is_plain

    def table(self, embedding: Tensor) -> Tensor:
        """An embedding, with one row per token or position."""
        return self._noisy(self.basis.write(embedding)).to(embedding.dtype)

    def head(self, head: HeadWeights) -> HeadWeights:
        """All four projections of a head."""
        return replace(
            head,
            query=self.reader(head.query),
            key=self.reader(head.key),
            value=self.reader(head.value),
            output=self.writer(head.output),
        )

    def reader(self, matrix: Sparse) -> Sparse:
        """A matrix whose first columns are the stream."""
        meanings, width = self.basis.directions.shape
        if self._is_plain:
            after = matrix.columns >= meanings
            columns = torch.where(after, matrix.columns + width - meanings, matrix.columns)
            shape = (matrix.shape[0], matrix.shape[1] + width - meanings)
            return self.between(Sparse(shape, matrix.rows, columns, matrix.values))
        return self._through(
            matrix,
            lambda dense: torch.cat(
                [dense[:, :meanings] @ self.basis.readout.t(), dense[:, meanings:]], 1
            ),
        )

    def writer(self, matrix: Sparse) -> Sparse:
        """A matrix whose rows are the stream."""
        if self._is_plain:
            shape = (self.basis.directions.shape[1], matrix.shape[1])
            return self.between(Sparse(shape, matrix.rows, matrix.columns, matrix.values))
        return self._through(matrix, lambda dense: self.basis.directions.t() @ dense)

    def between(self, matrix: Sparse) -> Sparse:
        """A matrix that neither reads nor writes the stream."""
        return matrix if not self.noise else self._through(matrix, lambda dense: dense)

    def _through(self, matrix: Sparse, change: Callable[[Tensor], Tensor]) -> Sparse:
        found = self._noisy(change(matrix.dense().double()))
        return Sparse.of_dense(found.to(matrix.values.dtype))

    def _noisy(self, matrix: Tensor) -> Tensor:
        if not self.noise or not matrix.numel():
            return matrix
        drawn = torch.randn(matrix.shape, generator=self._source, dtype=torch.float64)
        scale = self.noise * float(matrix.norm()) / math.sqrt(matrix.numel())
        return matrix + scale * drawn
