"""Figure 6 of the earlier paper: interdependence of open symbol and scaffold, of logits.

The one figure whose quantity the later paper changed: there it is measured on hidden states. Both
are computed together, by `bottom_up_figure_10`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from espalier.experiments.bottom_up_figure_10 import (
    Config,
    draw_space,
    measure,
    run,
    tabulate_space,
)

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


def tabulate(rows: pandas.DataFrame) -> pandas.DataFrame:
    """The last epoch, with intervals over seeds."""
    return tabulate_space(rows, "logits")


def draw(rows: pandas.DataFrame) -> Figure:
    """A column a scaffold length; scaffolds of the training set, as in the paper."""
    return draw_space(rows, "logits")


__all__ = ["Config", "draw", "measure", "run", "tabulate"]
