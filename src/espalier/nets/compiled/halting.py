"""When a network of one repeated layer stops: what both ways to run its weights share."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from espalier.errors import ProgramError
from espalier.nets.compiled.weights import Weights
from espalier.shapes import Residual, Valid

# A sequence that has run this long without halting is watched for a repeated state.
WATCH_FROM = 1024
# Why a realistic network takes no longer sequence.
PROVEN_FOR = "no longer one was proven right"


@dataclass(frozen=True)
class Finished:
    """The result of an encoder: logits, and after how many layers each sequence stopped."""

    logits: Tensor  # B x N x O
    layers: Tensor  # B
    halted: Tensor  # B


class Halting(nn.Module):
    """A network that runs until every position has halted.

    In a causal one a position that is done stays as it is, as in Dehghani et al. (2019): it may
    not depend on how long those after it take.
    """

    halt_direction: Tensor | None

    def __init__(self, weights: Weights) -> None:
        super().__init__()
        self.halt, self.causal = weights.halt, weights.causal
        direction = None if self.halt is None else self.halt.direction
        self.register_buffer("halt_direction", direction)
        self.longest, self.why = weights.longest, weights.why

    def resting(self, z: Residual, layers: int) -> Valid | None:
        """Where a position has halted in its first `layers` layers and stays so, if any may."""
        if not self.causal or self.halt is None or layers < 1:
            return None
        return self.has_halted(z)

    def done(self, z: Residual, valid: Valid) -> Tensor:
        """For each sequence, whether all its positions have halted."""
        if self.halt is None:
            return torch.zeros(len(z), dtype=torch.bool, device=z.device)
        return (self.has_halted(z) | ~valid).all(-1)

    def has_halted(self, z: Residual) -> Valid:
        """Where a position holds the value that it halts by."""
        assert self.halt is not None
        if self.halt_direction is None:
            return z[..., self.halt.dimension] > 0.5
        return z @ self.halt_direction > 0.5

    def watch(self, dimensions: Tensor | None = None, watch_from: int = WATCH_FROM) -> EndlessWatch:
        """A watch for runs of this network that never end."""
        tolerance = None if self.halt is None else self.halt.tolerance
        return EndlessWatch(dimensions, watch_from, tolerance=tolerance or 0.0)

    def check_length(self, length: int | torch.SymInt, dtype: torch.dtype) -> None:
        """Refuse a sequence that is too long for the averages of this model."""
        if self.longest is not None and length > self.longest:
            remedy = f"{self.why}; compile with a wider dtype"
            if self.why == PROVEN_FOR:
                remedy = f"{PROVEN_FOR}; compile with realism of more positions, or proven=False"
            raise ProgramError(
                f"the input has {length} positions; with {dtype} this model takes {self.longest} "
                f"at most: {remedy}"
            )


class EndlessWatch:
    """Refuses sequences whose state comes back, in the dimensions that count: they never halt."""

    def __init__(
        self,
        dimensions: Tensor | None = None,
        watch_from: int = WATCH_FROM,
        *,
        tolerance: float = 0.0,
    ) -> None:
        self._dimensions, self._from, self._tolerance = dimensions, watch_from, tolerance
        self._seen: Tensor | None = None

    def look(self, index: int, z: Tensor, running: Tensor, rows: Tensor | None = None) -> None:
        """Compare the stream after `index` layers with an earlier one, where still `running`.

        `rows` are the places of the rows of `z` in the batch, where some have left it.
        """
        if index < self._from:
            return
        z = z if self._dimensions is None else z[..., self._dimensions]
        if self._seen is not None:
            same = (z - self._seen).abs() <= self._tolerance if self._tolerance else z == self._seen
            again = same.flatten(1).all(-1) & running
            if bool(again.any()):
                row = int(again.nonzero()[0])
                raise ProgramError(
                    f"row {row if rows is None else int(rows[row])} of the batch never halts: its "
                    f"state came back by layer {index}; give max_layers to stop it"
                )
        if self._seen is None or index & (index - 1) == 0:
            self._seen = z.clone()

    def forget(self) -> None:
        """Start over, because rows have left the batch."""
        self._seen = None


def hold(resting: Valid | None, before: Residual, after: Residual) -> Residual:
    """The stream after a sub-layer, and before it where a position rests."""
    return after if resting is None else torch.where(resting[..., None], before, after)
