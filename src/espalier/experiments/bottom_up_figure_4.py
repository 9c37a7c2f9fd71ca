"""Figure 4: is interdependence higher between words that are close in the tree?

Mean interdependence of pairs of words by their distance in the tree, a panel for each sequential
distance and a line for each class: both words open, both closed, or one of each. A mean is given
where there are 100 cases at least; intervals come from drawing sentences anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from espalier.experiments.bottom_up_figure_3 import Config
from espalier.experiments.moments import Moments, syntax_rows, table_of
from espalier.experiments.shelf import Shelf

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

__all__ = ["Config", "draw", "run", "tabulate"]


def run(config: Config, shelf: Shelf) -> pandas.DataFrame:
    """One row a model, space, sequential distance, class and tree distance."""
    return table_of(shelf.rows(syntax_rows, Moments(config.language)), "stratum")


def tabulate(rows: pandas.DataFrame) -> pandas.DataFrame:
    """The nearest and the furthest tree distance of each line, hidden states, over models."""
    some = rows[rows["space"] == "hidden"]
    keys = ["distance", "class", "tree"]
    means = some.groupby(keys, as_index=False)[["mean", "cases"]].mean()
    lines = means.sort_values(keys).groupby(["distance", "class"], as_index=False)
    found: pandas.DataFrame = lines.agg(
        nearest=("tree", "first"),
        mean_nearest=("mean", "first"),
        furthest=("tree", "last"),
        mean_furthest=("mean", "last"),
        cases=("cases", "sum"),
    )
    return found


def draw(rows: pandas.DataFrame) -> Figure:
    """A panel a sequential distance, a line a class; hidden states."""
    from espalier.show.figures import draw_strata

    return draw_strata(rows[rows["space"] == "hidden"], "DI, hidden states")
