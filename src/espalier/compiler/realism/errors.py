"""How far off a reader of the stream is, at worst: in a layer, and by what earlier layers left."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from espalier.compiler.feedforward import passes_on, unit_labels
from espalier.compiler.layout import Layout
from espalier.compiler.realism.readers import Reader
from espalier.compiler.realism.states import blocks, largest, spread
from espalier.nets.compiled import Weights

# Readers whose products with all that is written are held at a time.
ROWS = 1024


@dataclass(frozen=True)
class Selection:
    """What a head does wrongly: the share of weight that goes astray, and errors of its logits.

    `number` is how far off the mean of a numerical head may be, in what it carries.
    """

    leak: float
    logit: float
    number: float = 0.0


@dataclass(frozen=True)
class Errors:
    """The parts of what a reader may be off by; all of R numbers."""

    reader: Reader
    read: Tensor  # in a stream that holds the meanings exactly, without rounding
    rounding: Tensor  # of the product itself
    first: Tensor  # by what is not exact from the start
    per_layer: Tensor
    rounded: Tensor  # after one layer; it grows as their square root
    carried: list[tuple[Tensor, Tensor, Tensor]]  # a head: if it selects rightly, of a leak, number

    def parts(self, layers: int, heads: list[Selection]) -> dict[str, Tensor]:
        """What adds up to the total error after so many layers, by where it comes from."""
        from_heads = torch.zeros_like(self.read)
        for (right, astray, number), found in zip(self.carried, heads, strict=False):
            from_heads += right + found.leak * astray + found.number * number
        return {
            "from what it reads": self.read,
            "from rounding": self.rounding,
            "from heads": from_heads,
            f"from {layers} layers before": self.first
            + layers * self.per_layer
            + math.sqrt(layers) * self.rounded,
        }

    def total(self, layers: int, heads: list[Selection]) -> Tensor:
        """The total error."""
        return torch.stack(list(self.parts(layers, heads).values())).sum(0)

    def drift(self, layers: int) -> Tensor:
        """The part that is no function of the state."""
        return self.total(layers, []) - self.read


class Stream:
    """What is not exact in the stream of one network, as any reader sees it."""

    def __init__(self, layout: Layout, weights: Weights, clean: Weights) -> None:
        assert layout.realism is not None
        assert layout.basis is not None
        self.layout, self.weights, self.clean = layout, weights, clean
        self.is_noisy, self._basis = layout.realism.noise > 0, layout.basis.directions
        self.is_plain = layout.basis.is_plain and not self.is_noisy
        self._before, self._within = blocks(layout, heads=False), blocks(layout, heads=True)
        sizes = [float((rows @ self._basis[at]).norm(dim=1).max()) for at, rows in self._within]
        size = math.hypot(*sizes) * (2 if layout.is_superposed else 1)
        self.rounding = torch.finfo(weights.token_embedding.dtype).eps / 2 * size
        pairs = zip(weights.heads, clean.heads, strict=True)
        self._carries = [
            (
                made.output.dense().double(),
                made.value.dense().double() @ self._basis.t(),
                self._basis.t() @ ideal.output.dense().double() @ ideal.value.dense().double(),
            )
            for made, ideal in pairs
        ]
        if self.is_noisy:
            self._find_noise()

    def errors(self, reader: Reader, *, within: bool = True) -> Errors:
        """Bounds for a reader, in the middle of a layer or when one begins."""
        nothing = torch.zeros(len(reader.names), dtype=torch.float64)
        heads = range(len(self._carries)) if within else ()
        carried = [self._carried(reader.actual, head) for head in heads]
        if self.is_plain:
            return Errors(reader, nothing, nothing, nothing, nothing, nothing, carried)
        states = self._within if within else self._before
        read = largest(spread(reader.actual @ self._basis.t() - reader.ideal, states))
        # Roundings are independent and of both signs (Higham and Mary 2019): those of a product add
        # up to about one of its size, those of the stored stream to one of its largest factor.
        rounding = 4 * self.rounding * reader.actual.norm(dim=1)
        stored = 4 * math.sqrt(len(self._carries) + 2) * self.rounding
        rounded = stored * reader.actual.abs().amax(1)
        first, per_layer = nothing, nothing
        if self.is_noisy:
            first = self._embedded(reader.actual) + self._lasting(reader.actual)
            per_layer = self._lasting(reader.actual @ self._after) + self._written(reader.actual)
        return Errors(reader, read, rounding, first, per_layer, rounded, carried)

    def match(self, head: int) -> float:
        """How far off a head's logits are in a stream that holds the meanings exactly."""
        if self.is_plain:
            return 0.0
        made, ideal = self.weights.heads[head], self.clean.heads[head]
        query, key = (self._basis @ one.dense().double().t() for one in (made.query, made.key))
        off = query @ key.t() - ideal.query.dense().double().t() @ ideal.key.dense().double()
        low = high = 0.0
        for keys, held in self._before:
            there = off[:, keys] @ held.t()
            for queries, asked in self._before:
                logits = asked @ there[queries]
                low, high = low + float(logits.min()), high + float(logits.max())
        return max(high, -low)

    def _carried(self, rows: Tensor, head: int) -> tuple[Tensor, Tensor, Tensor]:
        output, value, ideal = self._carries[head]
        writes = rows @ output
        low, high = spread(writes @ value, self._before)
        astray = high.clamp(min=0) - low.clamp(max=0)
        if self.weights.heads[head].mean is not None:
            return torch.zeros_like(astray), torch.zeros_like(astray), writes[:, 0].abs()
        if self.is_plain:
            return torch.zeros_like(astray), astray, torch.zeros_like(astray)
        right = largest(spread(writes @ value - rows @ ideal, self._before))
        return right, astray, torch.zeros_like(astray)

    def _find_noise(self) -> None:
        """What rules write wrongly, and what resets take out wrongly, of noisy weights."""
        width, mlp, ideal = self.layout.stream_width, self.weights.feedforward, self.clean
        labels, rules = unit_labels(self.layout), self.layout.program.rules
        second = mlp.w2.dense().double()
        self._off = second - self._basis.t() @ ideal.feedforward.w2.dense().double()
        names = [rule.output for rule in rules] + labels[len(rules) :]
        numbers = {name: place for place, name in enumerate(dict.fromkeys(names))}
        self._group = torch.tensor([numbers[name] for name in names], dtype=torch.long)
        cleared = [place for place, rule in enumerate(rules) if passes_on(self.layout, rule)]
        cleared += [place for place, label in enumerate(labels) if label.endswith("(takes out)")]
        first = mlp.w1.dense().double()[cleared, :width]
        wrongly = first @ self._basis.t()
        wrongly -= ideal.feedforward.w1.dense().double()[cleared, : self.layout.width]
        self._after = torch.eye(width, dtype=torch.float64) + second[:, cleared] @ first
        self._taken = second[:, cleared] @ wrongly

    def _lasting(self, rows: Tensor) -> Tensor:
        """What resets leave of one layer's heads, and take out of others."""
        found = largest(spread(rows @ self._taken, self._within))
        for output, value, ideal in self._carries:
            left = rows @ self._after
            found += largest(spread(left @ output @ value - left @ ideal, self._before))
        return found

    def _written(self, rows: Tensor) -> Tensor:
        """What one layer's rules write wrongly: one rule of a variable holds at a time."""
        count = int(self._group.max()) + 1 if len(self._group) else 0
        found = []
        for part in rows.float().split(ROWS):
            wrong = (part @ self._off.float()).abs()
            groups = torch.zeros(len(part), count)
            most = groups.scatter_reduce(1, self._group.expand_as(wrong), wrong, "amax")
            found.append(most.sum(1).double())
        return torch.cat(found)

    def _embedded(self, rows: Tensor) -> Tensor:
        """What embeddings hold wrongly."""
        found = torch.zeros(len(rows), dtype=torch.float64)
        for name in ("token_embedding", "position_embedding"):
            made, ideal = getattr(self.weights, name), getattr(self.clean, name)
            if made is not None:
                wrong = made.double() - ideal.double() @ self._basis
                found += (rows @ wrong.t()).abs().amax(1)
        return found
