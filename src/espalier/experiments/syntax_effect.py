"""The papers' claim about English in one number, and whether raw frequency explains it.

The effect of an edge of tree distance on interdependence, every sequential distance within every
class having a level of its own and the frequencies of both words held; in all, and for each
sequential distance by itself. Beside it, the rank correlation of interdependence with frequency,
of which the papers found none that was clear.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from espalier.experiments.bottom_up_figure_3 import Config
from espalier.experiments.moments import Moments, syntax_rows, table_of
from espalier.experiments.shelf import Shelf
from espalier.syntax.effects import TREE

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

__all__ = ["Config", "draw", "run", "tabulate"]


def run(config: Config, shelf: Shelf) -> pandas.DataFrame:
    """Effects, then correlations with frequency, in the columns of effects.

    `distance` 0 stands for all sequential distances together.
    """
    import pandas as pd

    rows = shelf.rows(syntax_rows, Moments(config.language))
    effects, frequency = table_of(rows, "effect"), table_of(rows, "frequency")
    found = frequency["correlation"]
    renamed = frequency.drop(columns=["word", "correlation", "cases"]).assign(
        outcome="rank correlation",
        name="frequency, " + frequency["word"],
        estimate=found,
        low=found,
        high=found,
        pairs=frequency["cases"],
        sentences=effects["sentences"].max(),
    )
    return pd.concat([effects, renamed[effects.columns]], ignore_index=True)


def tabulate(rows: pandas.DataFrame) -> pandas.DataFrame:
    """All sequential distances together, over models."""
    whole = rows[rows["distance"] == 0]
    groups = whole.groupby(["space", "outcome", "name"], as_index=False, sort=False)
    found: pandas.DataFrame = groups[["estimate", "low", "high", "pairs"]].mean()
    return found


def draw(rows: pandas.DataFrame) -> Figure:
    """The effect on log DI at each sequential distance, and in all; frequency held, and not."""
    from espalier.show.figures import draw_effects

    some = rows[(rows["outcome"] == "log DI") & rows["name"].str.startswith(TREE)]
    return draw_effects(some.assign(held=some["name"] == TREE))
