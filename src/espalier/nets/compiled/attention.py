"""Self-attention whose softmax has one more place to go: a sink that carries nothing.

Where a query matches no key the sink takes all the weight and the head writes the zero vector.
Heads that share query, key and relative bias share one attention pattern.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from espalier.nets.compiled.means import divide, normalise, unnormalised_softmax
from espalier.nets.compiled.sparse import SparseLinear, at_least_float32
from espalier.nets.compiled.weights import HeadWeights, Sparse
from espalier.shapes import Residual, Valid

# For each pattern, its attention weights if they are known already.
Settled = list[Tensor | None]

# With at most this many relative positions, only those logits are computed.
FEW_OFFSETS = 8
# Few and near relative positions need only this much of the past.
NEAR = 64


class SelfAttention(nn.Module):
    """z -> z + the outputs of all heads, all of which read the same z.

    A pattern whose query and key dimensions are never `written` is the same in every layer;
    `settle` computes those once for a run. A pattern whose query dimensions are `constant`, the
    same at every position always, is the same for every position, and computed for one.
    """

    def __init__(
        self,
        heads: tuple[HeadWeights, ...],
        written: Tensor | None = None,
        *,
        constant: Tensor | None = None,
        causal: bool = False,
    ) -> None:
        super().__init__()
        self.patterns = [
            Pattern(group, written, constant=constant, causal=causal) for group in _groups(heads)
        ]
        for place, pattern in enumerate(self.patterns):
            self.add_module(f"pattern_{place}", pattern)

    def forward(self, z: Residual, valid: Valid, settled: Settled | None = None) -> Residual:
        """The residual stream after the attention sub-layer."""
        return self.add_(z.clone(), valid, settled)

    def add_(self, z: Residual, valid: Valid, settled: Settled | None = None) -> Residual:
        """The same, in place."""
        settled = settled or [None] * len(self.patterns)
        carried = [p(z, valid, known) for p, known in zip(self.patterns, settled, strict=True)]
        for pattern, product in zip(self.patterns, carried, strict=True):
            pattern.output.add_to(z, product)
        return z

    def settle(self, z: Residual, valid: Valid) -> Settled:
        """What each pattern attends to in every layer of a run that starts from `z`, or None."""
        return [p.weights(z, valid) if p.is_settled else None for p in self.patterns]

    def keep(self, settled: Settled, rows: Tensor, length: int) -> Settled:
        """What `settle` gave, for some rows of the batch, cut to `length` positions."""
        pairs = zip(self.patterns, settled, strict=True)
        return [w if w is None else p.keep(w, rows, length) for p, w in pairs]


class Pattern(nn.Module):
    """One attention pattern and the values that all heads using it carry."""

    bias_table: Tensor

    def __init__(
        self,
        heads: list[HeadWeights],
        written: Tensor | None,
        *,
        constant: Tensor | None = None,
        causal: bool = False,
    ) -> None:
        super().__init__()
        first, bias = heads[0], heads[0].relative_bias
        self.query, self.key = SparseLinear(first.query), SparseLinear(first.key)
        self.value = SparseLinear(_stack([head.value for head in heads]))
        self.output = SparseLinear(_beside([head.output for head in heads]))
        self.sink, self.relative, self.causal = first.sink, bias, causal
        self.sizes = [head.value.shape[0] for head in heads]
        self.means = [head.mean for head in heads]
        self.counts = any(mean is not None for mean in self.means)
        self.sums_wide = any(mean is not None and mean.sums_wide for mean in self.means)
        offsets = bias.offsets if bias is not None else ()
        self.offsets = tuple(offset for offset in offsets if offset <= 0 or not causal)
        self.is_near = 0 < len(self.offsets) <= FEW_OFFSETS
        # How many earlier positions it needs, and None where that is all of them.
        reach = -min(self.offsets) if self.is_near else None
        self.reach = reach if reach is None or reach <= NEAR else None
        matched = torch.cat([first.query.columns, first.key.columns])
        self.is_settled = written is not None and not torch.isin(matched, written).any()
        self.is_uniform = (
            constant is not None
            and bias is None
            and not causal
            and bool(torch.isin(first.query.columns, constant).all())
        )
        table = bias.table if bias is not None else torch.empty(0)
        self.register_buffer("bias_table", table)

    def forward(
        self, z: Residual, valid: Valid, settled: Tensor | None = None
    ) -> Float[Tensor, "B queries rows"]:
        """What the heads of this pattern add to the dimensions that they write.

        One query stands for all where they are uniform.
        """
        weights = self.weights(z, valid) if settled is None else settled
        value = self.value(z).to(weights.dtype)
        if self.is_near:
            carried = self._carry_near(weights, value)
        elif self.is_uniform:
            # A single row of a product is summed term by term, and loses what many terms need.
            carried = (weights.transpose(1, 2) * value).sum(1, keepdim=True)
        else:
            carried = weights @ value
        return self.write(carried, weights, z.dtype)

    def soften(self, logits: Float[Tensor, "*batch M"]) -> Float[Tensor, "*batch M"]:
        """Attention weights; where numbers are averaged, what they are before normalisation."""
        if not self.counts:
            return softmax_with_sink(logits, self.sink)
        weights = unnormalised_softmax(logits, self.sink)
        return weights.double() if self.sums_wide else weights

    def write(
        self,
        carried: Float[Tensor, "B queries W"],
        weights: Float[Tensor, "B queries places"],
        dtype: torch.dtype,
    ) -> Float[Tensor, "B queries rows"]:
        """What is added to the stream of the sums that the heads of this pattern have carried."""
        if self.counts:
            parts = zip(carried.split(self.sizes, -1), self.means, strict=True)
            done = [
                normalise(part, weights) if mean is None else divide(part, mean)
                for part, mean in parts
            ]
            carried = torch.cat(done, -1) if len(done) > 1 else done[0]
        return self.output.compact(carried.to(dtype))

    def weights(self, z: Residual, valid: Valid) -> Float[Tensor, "B queries places"]:
        """How much each position attends to each other, or to each relative position if few."""
        asking = z[:, :1] if self.is_uniform else z
        query, key = at_least_float32(self.query(asking)), at_least_float32(self.key(z))
        if self.is_near:
            return self.soften(self._logits_near(query, key, valid))
        logits = query @ key.transpose(1, 2)
        if not self.is_uniform:
            positions = torch.arange(query.shape[1], device=query.device)
            logits = self.masked(logits, positions[None, :] - positions[:, None])
        logits = logits.masked_fill(~valid[:, None, :], -torch.inf)
        return self.soften(logits)

    def keep(self, weights: Tensor, rows: Tensor, length: int) -> Tensor:
        """Known weights for some rows of the batch, cut to `length` positions."""
        kept = weights[rows][:, :length]
        return kept if self.is_near else kept[:, :, :length]

    def masked(
        self, logits: Float[Tensor, "B N M"], distance: Int[Tensor, "*B N M"]
    ) -> Float[Tensor, "B N M"]:
        """The logits with what the head's relative positions and the causal mask do to them."""
        if self.relative is not None:
            place = distance - self.relative.first
            inside = (place >= 0) & (place < len(self.bias_table))
            bias = self.bias_table[place.clamp(0, len(self.bias_table) - 1)]
            logits = (logits + bias).masked_fill(~inside, -torch.inf)
        return logits.masked_fill(distance > 0, -torch.inf) if self.causal else logits

    def _logits_near(
        self, query: Float[Tensor, "B N K"], key: Float[Tensor, "B N K"], valid: Valid
    ) -> Float[Tensor, "B N places"]:
        """Logits at the relative positions whose bias is finite; the others have no weight."""
        there = [
            self.logit_near(query, shift(key, offset), shift(valid, offset), offset)
            for offset in self.offsets
        ]
        return torch.stack(there, -1)

    def logit_near(
        self,
        query: Float[Tensor, "B N K"],
        key: Float[Tensor, "B N K"],
        exists: Valid,
        offset: int,
    ) -> Float[Tensor, "B N"]:
        """The logit at one relative position, whose keys are next to the queries."""
        assert self.relative is not None
        there = (query * key).sum(-1) + self.bias_table[offset - self.relative.first]
        return there.masked_fill(~exists, -torch.inf)

    def _carry_near(
        self, weights: Float[Tensor, "B N places"], value: Float[Tensor, "B N W"]
    ) -> Float[Tensor, "B N W"]:
        # Rolling brings in values from the other end, where the weight is 0.
        parts = [
            weights[..., place, None] * value.roll(-offset, 1)
            for place, offset in enumerate(self.offsets)
        ]
        return torch.stack(parts).sum(0) if len(parts) > 1 else parts[0]


def softmax_with_sink(logits: Float[Tensor, "*batch M"], sink: float) -> Float[Tensor, "*batch M"]:
    """Softmax over the last axis and the sink, without the sink's own weight."""
    top = logits.amax(-1, keepdim=True).clamp(min=sink)
    raised = (logits - top).exp()
    return raised / (raised.sum(-1, keepdim=True) + (sink - top).exp())


def shift(x: Tensor, offset: int) -> Tensor:
    """Along the second axis, the entry `offset` to the right of each place; zero outside."""
    length = x.shape[1]
    shifted = torch.zeros_like(x)
    if abs(offset) >= length:
        return shifted
    if offset >= 0:
        shifted[:, : length - offset] = x[:, offset:]
    else:
        shifted[:, -offset:] = x[:, : length + offset]
    return shifted


def _groups(heads: tuple[HeadWeights, ...]) -> list[list[HeadWeights]]:
    groups: list[list[HeadWeights]] = []
    for head in heads:
        mate = next((group for group in groups if _share(group[0], head)), None)
        if mate is not None:
            mate.append(head)
        else:
            groups.append([head])
    return groups


def _share(one: HeadWeights, other: HeadWeights) -> bool:
    ours, theirs = one.relative_bias, other.relative_bias
    if ours is None or theirs is None:
        alike = ours is theirs
    else:
        alike = ours.first == theirs.first and torch.equal(ours.table, theirs.table)
    return (
        alike
        and one.sink == other.sink
        and one.query.same_as(other.query)
        and one.key.same_as(other.key)
    )


def _stack(matrices: list[Sparse]) -> Sparse:
    """One matrix on top of another."""
    heights = [matrix.shape[0] for matrix in matrices]
    above = [sum(heights[:place]) for place in range(len(heights))]
    return Sparse(
        (sum(heights), matrices[0].shape[1]),
        torch.cat([m.rows + top for m, top in zip(matrices, above, strict=True)]),
        torch.cat([m.columns for m in matrices]),
        torch.cat([m.values for m in matrices]),
    )


def _beside(matrices: list[Sparse]) -> Sparse:
    """One matrix to the right of another."""
    turned = _stack([_transpose(matrix) for matrix in matrices])
    return _transpose(turned)


def _transpose(matrix: Sparse) -> Sparse:
    order = torch.argsort(matrix.columns * matrix.shape[0] + matrix.rows)
    return Sparse(
        (matrix.shape[1], matrix.shape[0]),
        matrix.columns[order],
        matrix.rows[order],
        matrix.values[order],
    )
