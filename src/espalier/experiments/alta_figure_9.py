"""ALTA, Figure 9: accuracy by length for Transformers trained end to end on parity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from espalier.experiments.alta_table_3 import KINDS, Config, measure, run
from espalier.experiments.strings import shares_by

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

__all__ = ["Config", "draw", "measure", "run", "tabulate"]


def tabulate(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Shares by length."""
    return shares_by(rows, [*KINDS, "length"])


def draw(rows: pandas.DataFrame) -> Figure:
    """Relative positions beside absolute ones, a row a depth."""
    from espalier.show.figures import Facets, Look, draw_bands

    depths = sorted(rows["layers"].unique())
    facets = Facets(
        x="length",
        line="sharing",
        across="positions",
        down="layers",
        x_label="length",
        titles="{} positions",
        sides={layers: f"accuracy\n{layers} layers" for layers in depths},
        looks={
            "no": Look("#1b1f27", "-", "o", "own weights"),
            "yes": Look("#d02f2f", "--", "^", "shared weights"),
        },
        limits=(-0.02, 1.05),
    )
    return draw_bands(tabulate(rows), facets)
