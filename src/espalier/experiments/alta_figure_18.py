"""ALTA, Figure 18: SCAN's splits by number of layers, shared weights and relative positions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from espalier.experiments.alta_table_6 import draw_depths, measure, run, tabulate
from espalier.experiments.learners import translators
from espalier.experiments.models import Scale
from espalier.training.translation import ScanRun

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

__all__ = ["Config", "draw", "measure", "run", "tabulate"]


@dataclass(frozen=True)
class Config:
    """Table 6's Transformers with shared weights and relative positions."""

    runs: tuple[ScanRun, ...] = field(default_factory=lambda: _shared("paper"))

    @classmethod
    def at(cls, scale: Scale) -> Config:
        """The preset of a scale."""
        return cls(_shared(scale))


def _shared(scale: Scale) -> tuple[ScanRun, ...]:
    runs = translators(scale)
    return tuple(run for run in runs if run.shape.shared and run.shape.positions == "relative")


def draw(rows: pandas.DataFrame) -> Figure:
    """A panel a split."""
    return draw_depths(rows)
