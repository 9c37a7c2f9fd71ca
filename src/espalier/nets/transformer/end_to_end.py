"""Inputs of different lengths one after the other, without padding between them.

E members, B inputs, N positions of the longest, T cells of a member, D residual.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from espalier.nets.transformer.sublayers import through


@dataclass(frozen=True, eq=False)
class EndToEnd:
    """Every member's inputs, and what is left of its cells after them.

    Inputs that do not fit are cut: a step is warmed up on batches that it is not made for.
    """

    tokens: Int[Tensor, "E T"]  # 0 after the last input
    places: Int[Tensor, "E T"]  # within an input; 0 after the last one
    starts: Int[Tensor, "E B"]
    lengths: Int[Tensor, "E B"]

    @classmethod
    def of(cls, tokens: Int[Tensor, "E B N"], lengths: Int[Tensor, "E B"], cells: int) -> EndToEnd:
        """Inputs of these lengths in so many cells.

        >>> EndToEnd.of(torch.tensor([[[7, 8], [9, 0]]]), torch.tensor([[2, 1]]), 4).tokens.tolist()
        [[7, 8, 9, 0]]
        """
        return cls(*through(_laid_out, lengths, tokens, cells))

    def last(self, stream: Float[Tensor, "E T D"]) -> Float[Tensor, "E B D"]:
        """What there is at every input's last position."""
        at = (self.starts + self.lengths - 1).unsqueeze(2)
        return stream.gather(1, at.expand(-1, -1, stream.shape[2]))


def _laid_out(
    lengths: Int[Tensor, "E B"], tokens: Int[Tensor, "E B N"], cells: int
) -> tuple[Int[Tensor, "E T"], Int[Tensor, "E T"], Int[Tensor, "E B"], Int[Tensor, "E B"]]:
    """Tokens and places of all cells; where inputs start, and how much of them there is."""
    ends = lengths.cumsum(1).clamp(max=cells)
    starts = torch.cat([torch.zeros_like(ends[:, :1]), ends[:, :-1]], 1)
    every = torch.arange(cells, device=lengths.device).expand(len(lengths), -1)
    inputs = (every.unsqueeze(2) >= ends.unsqueeze(1)).sum(2).clamp(max=lengths.shape[1] - 1)
    filled = every < ends[:, -1:]
    places = torch.where(filled, every - starts.gather(1, inputs), 0)
    found = tokens.flatten(1).gather(1, inputs * tokens.shape[2] + places)
    return torch.where(filled, found, 0), places, starts, ends - starts
