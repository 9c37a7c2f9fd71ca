"""Transformers on SCAN that are trained differently from the reference, one change at a time.

Settings that the paper leaves open could explain a difference: dropout, END in the loss, the
decoder's positions. How actions are spelt is part of a split's name, batch and optimiser of the
recipe. Weights are saved after every measure, to count answers in several ways later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch

from espalier.errors import ConfigError, is_number
from espalier.nets.transformer import Positions, Weights
from espalier.runs import EveryEpoch, Plan
from espalier.training.scan import ScanRun, TranslationTask

LONGEST = 128  # symbols of an answer, in every spelling


@dataclass(frozen=True)
class ScanVariant(ScanRun):
    """A kind of Transformer on SCAN by its name, and what it is trained with.

    `dropout` applies to embeddings and to the outputs of sub-layers. Without `trained_end` END has
    no part in the loss.

    >>> ScanVariant(name="dropout", splits=("length",), dropout=0.1).plan().keep
    (EveryEpoch(count=1),)
    """

    kind: ClassVar[str] = "scan-variant"

    name: str = "reference"
    dropout: float = 0.0
    trained_end: bool = True
    decoder_positions: Positions = "relative"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_number(self.dropout) or not 0 <= self.dropout < 1:
            raise ConfigError(f"dropout is {self.dropout!r}; use a share from 0 to below 1")
        if self.decoder_positions not in ("relative", "absolute"):
            raise ConfigError(
                f"decoder_positions are {self.decoder_positions!r}; use 'relative' or 'absolute'"
            )

    def plan(self) -> Plan:
        """As many steps as the recipe has; weights are saved after every measure."""
        return Plan(self.recipe.measures, (EveryEpoch(),))

    def task(self, device: torch.device) -> TranslationTask:
        """What the members learn, with this dropout and `trained_end`."""
        task = TranslationTask.of(self, device)
        return replace(task, dropout=self.dropout, trained_end=self.trained_end)

    def first_weights(self, seeds: Sequence[int]) -> Weights:
        """T5's, or those with embeddings of the decoder's positions in place of biases."""
        weights = super().first_weights(seeds)
        if self.decoder_positions == "relative":
            return weights
        return {n: w for n, w in weights.items() if n != "decoder.relative"} | {
            "decoder.position": torch.stack([_positions(self.shape.width, seed) for seed in seeds])
        }


def _positions(width: int, seed: int) -> torch.Tensor:
    return torch.randn(LONGEST, width, generator=torch.Generator().manual_seed(seed + (1 << 32)))
