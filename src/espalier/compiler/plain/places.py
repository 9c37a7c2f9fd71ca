"""Where in a textbook Transformer's stream everything lies that a compiled model has."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from espalier.compiler.layout import Layout
from espalier.language import Numerical
from espalier.nets.compiled import ExpansionWeights, Sparse, Weights

# No number of a stream exceeds it.
FAR = 2.0**10


@dataclass(frozen=True)
class Places:
    """A compiled model, and its dimensions in the wider stream: first its own, then the others."""

    layout: Layout
    weights: Weights
    exact: bool  # clean and as compiled: units and halting are 0 or 1, and resets leave nothing
    positions: int
    bos: int
    pad: int
    done: int | None  # 1 once the whole sequence has halted; where resting is not exact, too
    position: range  # one-hot, where a head has relative positions
    inner: range
    middle: range
    features: range

    @staticmethod
    def of(layout: Layout, weights: Weights, positions: int, *, exact: bool) -> Places:
        """The places in order."""
        width = layout.stream_width
        start = width + 2
        done = start if weights.halt is not None and not (weights.causal and exact) else None
        start += done is not None
        is_relative = any(head.relative_bias is not None for head in weights.heads)
        ranges = []
        for size in (positions * is_relative, *_sizes(layout, weights.feedforward.expansion)):
            ranges.append(range(start, start + size))
            start += size
        return Places(layout, weights, exact, positions, width, width + 1, done, *ranges)

    @property
    def own(self) -> range:
        """The dimensions of the compiled model's stream."""
        return range(self.bos)

    @property
    def head_names(self) -> tuple[str, ...]:
        """The compiled model's heads, and one that asks whether all positions have halted."""
        is_asked = self.done is not None and not self.weights.causal
        return *self.layout.head_names, *(("done",) if is_asked else ())

    @property
    def halted(self) -> Tensor:
        """The direction that is above one half where a position of the stream has halted."""
        halt, found = self.weights.halt, torch.zeros(self.width, dtype=self.dtype)
        assert halt is not None
        if halt.direction is None:
            found[halt.dimension] = 1
        else:
            found[: self.bos] = halt.direction.to(self.dtype)
        return found

    @property
    def width(self) -> int:
        """The width of the whole stream."""
        return self.features.stop

    @property
    def dtype(self) -> torch.dtype:
        """The type that all weights are given in: float64 where thresholds need it."""
        has_thresholds = self.weights.feedforward.expansion is not None
        narrow = self.weights.token_embedding.dtype
        return torch.float64 if has_thresholds else torch.promote_types(narrow, torch.float32)

    @property
    def labels(self) -> list[str]:
        """What each dimension means."""
        layout = self.layout
        done = [] if self.done is None else ["done"]
        own = layout.labels
        if layout.basis is not None:
            own = own if layout.basis.is_plain else []
            own = own + [f"dimension {place}" for place in range(len(own), self.bos)]
        return [
            *own,
            *("bos", "pad", *done),
            *(f"position = {place}" for place in range(len(self.position))),
            *(f"threshold {place}" for place in range(len(self.inner))),
            *(f"comparison {place}" for place in range(len(self.middle))),
            *(f"[{label}]" for label in layout.feature_labels[layout.width :]),
        ]

    def spread(self, matrix: Sparse, *columns: range | list[int]) -> Tensor:
        """A matrix that reads the stream; its columns, in order, lie at `columns`."""
        dense = torch.zeros(matrix.shape[0], self.width, dtype=self.dtype)
        places = torch.tensor([place for part in columns for place in part], dtype=torch.long)
        dense[matrix.rows, places[matrix.columns]] = matrix.values.to(self.dtype)
        return dense


def copies(layout: Layout, expansion: ExpansionWeights) -> list[int] | None:
    """The dimensions that the first layer of thresholds copies, if that is all it does."""
    inner = expansion.inner
    is_copy = (
        expansion.middle is None
        and not any(isinstance(layout.program.specs[name], Numerical) for name in layout.expanded)
        and torch.equal(inner.rows, torch.arange(inner.shape[0]))
        and bool((inner.values == 1).all())
        and not bool(expansion.inner_bias.any())
    )
    return inner.columns.tolist() if is_copy else None


def _sizes(layout: Layout, expansion: ExpansionWeights | None) -> tuple[int, int, int]:
    if expansion is None:
        return 0, 0, 0
    middle = 0 if expansion.middle is None else expansion.middle.shape[0]
    inner = expansion.inner.shape[0] if copies(layout, expansion) is None else 0
    return inner, middle, layout.features
