"""Sequences as rectangles."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def pad(sequences: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Token ids as a rectangle, 0 where a sequence has ended, and the lengths."""
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    width = int(lengths.max())
    rows = [[*sequence, *([0] * (width - len(sequence)))] for sequence in sequences]
    return torch.tensor(rows, device=device), lengths.to(device)
