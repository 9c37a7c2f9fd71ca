"""Figure 9 of the earlier paper: interdependence by distance in the tree, in logits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from espalier.experiments.bottom_up_figure_4 import Config, run, tabulate

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

__all__ = ["Config", "draw", "run", "tabulate"]


def draw(rows: pandas.DataFrame) -> Figure:
    """A panel a sequential distance, a line a class; logits."""
    from espalier.show.figures import draw_strata

    return draw_strata(rows[rows["space"] == "logits"], "DI, logits")
