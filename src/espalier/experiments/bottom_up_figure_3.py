"""Figure 3: the closer two words stand, the more they depend on each other.

Mean interdependence of all pairs of words by sequential distance r - l, with intervals from
drawing sentences anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from espalier.experiments.languages import Language, english
from espalier.experiments.models import Scale
from espalier.experiments.moments import Moments, syntax_rows, table_of
from espalier.experiments.shelf import Shelf

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Config:
    """The language, as its models have it at the end of their training."""

    language: Language = field(default_factory=lambda: english("paper"))

    @classmethod
    def at(cls, scale: Scale) -> Config:
        """The preset of a scale."""
        return cls(english(scale))


def run(config: Config, shelf: Shelf) -> pandas.DataFrame:
    """One row a model, space and sequential distance: mean, low, high and cases."""
    return table_of(shelf.rows(syntax_rows, Moments(config.language)), "distance")


def tabulate(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Distances 1 to 10, averaged over models."""
    near = rows[rows["distance"] <= 10]
    values = near.groupby(["space", "distance"], as_index=False)
    found: pandas.DataFrame = values[["mean", "low", "high", "cases"]].mean()
    return found


def draw(rows: pandas.DataFrame) -> Figure:
    """Both spaces in one panel."""
    from espalier.show.figures import draw_distances

    return draw_distances(rows)
