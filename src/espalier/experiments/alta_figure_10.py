"""ALTA, Figure 10: accuracy by number of ones, end to end, relative positions.

No generalisation is expected beyond the ones seen.
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
    return shares_by(relative, ["layers", "sharing", "ones"], of="right")


def draw(rows: pandas.DataFrame) -> Figure:
    """A panel a Transformer."""
    return draw_by_ones(rows, of="right", side="accuracy")
