"""ALTA, Figure 11: average prediction by number of ones, end to end, relative positions.

Beyond the ones seen, models are expected to answer 0 or 1 to everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from espalier.experiments.alta_table_3 import Config, looks, measure, run, with_names
from espalier.experiments.strings import shares_by

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

__all__ = ["Config", "draw", "measure", "run", "tabulate"]


def tabulate(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Shares by number of ones."""
    relative = rows[rows["positions"] == "relative"]
    return shares_by(relative, ["layers", "sharing", "ones"], of="odd")


def draw(rows: pandas.DataFrame) -> Figure:
    """A panel a Transformer."""
    from espalier.plots.bands import Facets, draw_bands

    named = with_names(rows[rows["positions"] == "relative"])
    facets = Facets(
        x="ones",
        line="model",
        across="layers",
        x_label="number of ones",
        titles="{} layers",
        side="share of answers that are 1",
        looks=looks(named),
        limits=(-0.02, 1.05),
    )
    return draw_bands(shares_by(named, ["model", "layers", "ones"], of="odd"), facets)
