"""How scaffold models learn: the close symbol's probability over training, in and out of domain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from espalier.show.figures.bands import Facets, draw_bands

if TYPE_CHECKING:
    import pandas

MEASURES = {
    "in_domain": "P(close)\nscaffolds of the training set",
    "out_of_domain": "P(close)\nnew scaffolds",
}


def draw_learning(rows: pandas.DataFrame, *, ax: Axes | None = None) -> Figure:
    """A column a scaffold length, a row a test set; mean over seeds, the band from worst to best.

    `rows` has a row for each member and epoch, with length, setting, epoch, in_domain and
    out_of_domain: the metrics of a scaffold run.
    """
    keys = ["length", "setting", "epoch", "measure"]
    long = rows.melt(keys[:3], list(MEASURES), var_name="measure", value_name="p")
    table = long.groupby(keys, as_index=False)["p"].agg(mean="mean", low="min", high="max")
    facets = Facets(
        "epoch",
        "setting",
        "length",
        "measure",
        x_label="epoch",
        titles="scaffold length {}",
        sides=MEASURES,
        limits=(-0.02, 1.02),
    )
    return draw_bands(table, facets, ax=ax)
