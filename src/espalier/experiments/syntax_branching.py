"""Another word order: the same measures on made-up languages that branch to the left or right.

Both are the same trees, one the mirror image of the other, so that whatever differs is owed to the
order of words. The papers leave other orders than English's to future work.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from espalier.experiments.languages import Language, made_up
from espalier.experiments.models import Scale
from espalier.experiments.moments import Moments, syntax_rows
from espalier.experiments.shelf import Shelf
from espalier.experiments.syntax_over_training import MEASURES, over_training

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Config:
    """Both languages, and all moments of their models' training that are kept."""

    left: Language = field(default_factory=lambda: made_up("left", "paper"))
    right: Language = field(default_factory=lambda: made_up("right", "paper"))

    @classmethod
    def at(cls, scale: Scale) -> Config:
        """The preset of a scale."""
        return cls(made_up("left", scale), made_up("right", scale))


def run(config: Config, shelf: Shelf) -> pandas.DataFrame:
    """One row an order, model, moment, space and measure: value, low and high."""
    import pandas as pd

    parts = []
    for order, language in (("left", config.left), ("right", config.right)):
        rows = shelf.rows(syntax_rows, Moments(language, "all"))
        parts.append(over_training(rows).assign(order=order))
    return pd.concat(parts, ignore_index=True)


def tabulate(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Before training and after it, hidden states, over models."""
    ends = rows["epoch"].isin([rows["epoch"].min(), rows["epoch"].max()])
    some = rows[ends & (rows["space"] == "hidden")]
    groups = some.groupby(["order", "measure", "epoch"], as_index=False)
    found: pandas.DataFrame = groups[["value", "low", "high"]].mean()
    return found


def draw(rows: pandas.DataFrame) -> Figure:
    """A panel a measure, a line an order; hidden states."""
    from espalier.show.figures import draw_over_training

    some = rows[rows["space"] == "hidden"].drop(columns="space")
    return draw_over_training(some.rename(columns={"order": "space"}), MEASURES)
