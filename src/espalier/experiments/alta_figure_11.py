"""ALTA, Figure 11: average prediction by number of ones, end to end, relative positions.

Beyond the ones seen, models are expected to answer 0 or 1 to everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from espalier.experiments.alta_table_3 import Config, draw_by_ones, measure, run
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
    return draw_by_ones(rows, of="odd", side="share answering 1")
