"""The sub-layers of a compiled Transformer as ordinary torch modules: parameters, hooks, gradients.

Each is called once per layer and gives what it adds to the residual stream, without in-place writes
and without shortcuts; `universal` runs the same weights faster. A matrix is held by its entries:
their values are a parameter, their places are fixed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from espalier.nets.compiled.feedforward import clip
from espalier.nets.compiled.means import divide, unnormalised_softmax
from espalier.nets.compiled.sparse import at_least_float32
from espalier.nets.compiled.weights import (
    ExpansionWeights,
    FeedForwardWeights,
    HeadWeights,
    RelativeBias,
    Sparse,
)
from espalier.shapes import Residual, Valid

# A matrix of more numbers than this is never written out: its entries are added up one by one.
WRITTEN_OUT = 1 << 22


class EntriesLinear(nn.Module):
    """x -> W x + b, `values[k]` being the entry of W at `rows[k]`, `columns[k]`."""

    rows: Tensor
    columns: Tensor

    def __init__(self, weight: Sparse, bias: Tensor | None = None) -> None:
        super().__init__()
        self.shape = weight.shape
        self.values = parameter(weight.values)
        self.bias = None if bias is None else parameter(bias)
        self.register_buffer("rows", weight.rows.clone())
        self.register_buffer("columns", weight.columns.clone())

    @property
    def sparse(self) -> Sparse:
        """The matrix as plain data, which shares its memory with the module."""
        return Sparse(self.shape, self.rows, self.columns, self.values.detach())

    def dense(self) -> Float[Tensor, "R C"]:
        """The whole matrix; gradients run through it to `values`."""
        if len(self.values) == self.shape[0] * self.shape[1]:
            return self.values.view(self.shape)
        zeros = self.values.new_zeros(self.shape)
        return zeros.index_put((self.rows, self.columns), self.values)

    def forward(self, x: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch R"]:
        """The product, summed in float32 at least, in the type of `x`."""
        wide = at_least_float32(x)
        bias = None if self.bias is None else self.bias.to(wide.dtype)
        if self.shape[0] * self.shape[1] <= WRITTEN_OUT:
            return functional.linear(wide, self.dense().to(wide.dtype), bias).to(x.dtype)
        terms = wide.index_select(-1, self.columns) * self.values.to(wide.dtype)
        zeros = wide.new_zeros(*x.shape[:-1], self.shape[0])
        product = zeros.index_add(-1, self.rows, terms)
        return (product if bias is None else product + bias).to(x.dtype)

    def extra_repr(self) -> str:
        """Sizes, as `nn.Linear` prints them."""
        return f"{self.shape[1]}, {self.shape[0]}, {len(self.values)} entries"

    def _load_from_state_dict(self, state: Mapping[str, Any], prefix: str, *rest: Any) -> None:
        errors: list[str] = rest[-1]
        for name in ("rows", "columns"):
            given, own = state.get(prefix + name), getattr(self, name)
            if isinstance(given, Tensor) and not torch.equal(given.to(own.device), own):
                errors.append(
                    f"{prefix}{name} places the entries elsewhere: these are weights of another "
                    f"program; load them into a model that was compiled from that one"
                )
        super()._load_from_state_dict(state, prefix, *rest)


class AttentionHead(nn.Module):
    """One head, whose softmax has one more place to go: a sink that carries nothing.

    `bias[k]` is added to the logit at relative position `offsets[k]`, and no other position can be
    attended to; where `bias` is None all can.
    """

    offsets: Tensor | None

    def __init__(self, weights: HeadWeights, *, causal: bool) -> None:
        super().__init__()
        self.query, self.key = EntriesLinear(weights.query), EntriesLinear(weights.key)
        self.value, self.output = EntriesLinear(weights.value), EntriesLinear(weights.output)
        self.causal, self.mean, relative = causal, weights.mean, weights.relative_bias
        wide = at_least_float32(weights.query.values[:0]).dtype
        self.sink = nn.Parameter(torch.tensor([weights.sink], dtype=wide))
        self.bias, offsets = None, None
        if relative is not None:
            self.first, self.places = relative.first, len(relative.table)
            self.bias = parameter(relative.table[relative.table.isfinite()].to(wide))
            offsets = torch.tensor(relative.offsets, dtype=torch.long)
        self.register_buffer("offsets", offsets)

    @property
    def weights(self) -> HeadWeights:
        """The head as plain data."""
        relative = None if self.bias is None else RelativeBias(self.first, self._table().detach())
        return HeadWeights(
            query=self.query.sparse,
            key=self.key.sparse,
            value=self.value.sparse,
            output=self.output.sparse,
            sink=float(self.sink.detach()),
            relative_bias=relative,
            mean=self.mean,
        )

    def forward(
        self, z: Residual, valid: Valid, cut: Bool[Tensor, "B N N"] | None = None
    ) -> Residual:
        """What this head adds to the residual stream, without the edges that are `cut`."""
        pattern = self.pattern(z, valid, cut)
        carried = pattern @ self.value(z).to(pattern.dtype)
        if self.mean is not None:
            carried = divide(carried, self.mean)
        added: Tensor = self.output(carried.to(z.dtype))
        return added

    def pattern(
        self, z: Residual, valid: Valid, cut: Bool[Tensor, "B N N"] | None = None
    ) -> Float[Tensor, "B N N"]:
        """How much each position attends to each other; what is missing to 1 goes to the sink.

        Of a head that averages numbers it is how often each position is counted, 0 or 1.
        """
        query, key = at_least_float32(self.query(z)), at_least_float32(self.key(z))
        logits = query @ key.transpose(1, 2)
        positions = torch.arange(z.shape[1], device=z.device)
        distance = positions[None, :] - positions[:, None]
        hidden = ~valid[:, None, :] if cut is None else ~valid[:, None, :] | cut
        if self.causal:
            hidden = hidden | (distance > 0)
        if self.bias is not None:
            logits = logits + self._bias_at(distance)
        logits = logits.masked_fill(hidden, -torch.inf)
        if self.mean is not None:
            counted = unnormalised_softmax(logits, self.sink)
            return counted.double() if self.mean.sums_wide else counted
        sink = self.sink.to(logits.dtype).expand(*logits.shape[:2], 1)
        return torch.cat([logits, sink], -1).softmax(-1)[..., :-1]

    def _bias_at(self, distance: Int[Tensor, "N N"]) -> Float[Tensor, "N N"]:
        table, place = self._table(), distance - self.first
        inside = (place >= 0) & (place < self.places)
        return torch.where(inside, table[place.clamp(0, self.places - 1)], -torch.inf)

    def _table(self) -> Float[Tensor, " places"]:
        assert self.bias is not None
        assert self.offsets is not None
        nowhere = self.bias.new_full((self.places,), -torch.inf)
        return nowhere.index_put((self.offsets - self.first,), self.bias)


class Attention(nn.Module):
    """All heads of the layer, each a submodule under the name of its variable."""

    def __init__(self, heads: Mapping[str, HeadWeights], *, causal: bool) -> None:
        super().__init__()
        self.names: dict[str, str] = {}
        for name, weights in heads.items():
            self.names[name] = self._free_name(name)
            self.add_module(self.names[name], AttentionHead(weights, causal=causal))

    def head(self, name: str) -> AttentionHead:
        """The module of the head that writes variable `name`."""
        head = self.get_submodule(self.names[name])
        assert isinstance(head, AttentionHead)
        return head

    def forward(
        self, z: Residual, valid: Valid, cuts: Mapping[str, Tensor] | None = None
    ) -> Residual:
        """What all heads add to the residual stream; all of them read the same `z`.

        `cuts` has the edges that a head, by its variable's name, is not to select.
        """
        added, masks = torch.zeros_like(z), {self.names[n]: cut for n, cut in (cuts or {}).items()}
        for name, module in self.named_children():
            added = added + (module(z, valid, masks[name]) if name in masks else module(z, valid))
        return added

    def _free_name(self, name: str) -> str:
        """`name`, changed where torch does not allow it: no dots, and no attribute's name."""
        free = name.replace(".", "_") or "_"
        while hasattr(self, free):
            free += "_"
        return free


class Expansion(nn.Module):
    """What rules see of numbers, sets and averages: one-hot features."""

    def __init__(self, weights: ExpansionWeights) -> None:
        super().__init__()
        self.inner = EntriesLinear(weights.inner, weights.inner_bias)
        self.outer = EntriesLinear(weights.outer, weights.outer_bias)
        self.middle = None
        if weights.middle is not None:
            self.middle = EntriesLinear(weights.middle, weights.middle_bias)

    @property
    def weights(self) -> ExpansionWeights:
        """The layers as plain data."""
        middle = self.middle
        return ExpansionWeights(
            self.inner.sparse,
            bias_of(self.inner),
            self.outer.sparse,
            bias_of(self.outer),
            None if middle is None else middle.sparse,
            None if middle is None else bias_of(middle),
        )

    def forward(self, z: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch X"]:
        """The features, in the type of the thresholds."""
        hidden = clip(self.inner(z.to(self.inner.values.dtype)))
        if self.middle is not None:
            hidden = clip(self.middle(hidden))
        return clip(self.outer(hidden))


class MLP(nn.Module):
    """Appendix B's: W2 clip(W1 y + b1), y being z followed by its expansion."""

    def __init__(self, weights: FeedForwardWeights) -> None:
        super().__init__()
        self.expansion = None if weights.expansion is None else Expansion(weights.expansion)
        self.first = EntriesLinear(weights.w1, weights.b1)
        self.second = EntriesLinear(weights.w2)

    @property
    def weights(self) -> FeedForwardWeights:
        """The MLP as plain data."""
        expansion = None if self.expansion is None else self.expansion.weights
        return FeedForwardWeights(
            self.first.sparse, bias_of(self.first), self.second.sparse, expansion
        )

    def forward(
        self, z: Float[Tensor, "*batch D"], silenced: tuple[Tensor, ...] | None = None
    ) -> Float[Tensor, "*batch D"]:
        """What the rules that hold add to the residual stream; units at `silenced` are 0."""
        units = self.units(z)
        if silenced is not None:
            units = units.index_put(silenced, units.new_zeros(()))
        added: Tensor = self.second(units)
        return added

    def units(self, z: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch R"]:
        """The hidden units: rules, in the program's order, and what numbers need besides."""
        seen = z
        if self.expansion is not None:
            seen = torch.cat([z, self.expansion(z).to(z.dtype)], -1)
        return clip(self.first(seen))


def parameter(tensor: Tensor) -> nn.Parameter:
    """A parameter of its own memory that holds `tensor`."""
    return nn.Parameter(tensor.detach().clone())


def bias_of(linear: EntriesLinear) -> Tensor:
    """The bias as plain data."""
    assert linear.bias is not None
    return linear.bias.detach()
