"""Interdependence as a structural probe without parameters, beside what needs no model.

UUAS of the heaviest trees that DI suggests (bottom-up paper, section 6), of the same network before
its training, of linking neighbours, and of trees drawn at random. Punctuation is left out.
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
    """One row a tree: who suggests it, in which space and shape, its UUAS, low, high and edges."""
    return label_probe(table_of(shelf.rows(syntax_rows, Moments(config.language, "ends")), "probe"))


def label_probe(rows: pandas.DataFrame) -> pandas.DataFrame:
    """The rows with `model`: none, untrained or trained."""
    import numpy as np

    last = rows["epoch"].max()
    model = np.select([rows["epoch"] < 0, rows["epoch"] == last], ["none", "trained"], "untrained")
    return rows.assign(model=model)


def tabulate(rows: pandas.DataFrame) -> pandas.DataFrame:
    """The best first, over models."""
    keys = ["model", "space", "weights", "shape"]
    means = rows.groupby(keys, as_index=False)[["uuas", "low", "high", "edges"]].mean()
    found: pandas.DataFrame = means.sort_values("uuas", ascending=False)
    return found


def draw(rows: pandas.DataFrame) -> Figure:
    """Bars with intervals."""
    from espalier.show.figures import draw_probe

    return draw_probe(tabulate(rows))
