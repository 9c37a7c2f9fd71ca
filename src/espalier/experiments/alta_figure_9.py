"""ALTA, Figure 9: accuracy by length for Transformers trained end to end on parity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from espalier.experiments.alta_table_3 import KINDS, Config, looks, measure, run, with_names
from espalier.experiments.strings import shares_by

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

__all__ = ["Config", "draw", "measure", "run", "tabulate"]


def tabulate(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Shares by length."""
    return shares_by(rows, [*KINDS, "length"])


def draw(rows: pandas.DataFrame) -> Figure:
    """Relative positions beside absolute ones."""
    from espalier.plots.bands import Facets, draw_bands

    named = with_names(rows)
    facets = Facets(
        x="length",
        line="model",
        across="positions",
        x_label="length",
        titles="{} positions",
        side="accuracy",
        looks=looks(named),
        limits=(-0.02, 1.05),
    )
    return draw_bands(shares_by(named, ["model", "positions", "length"]), facets)
