"""Figure 7: the close symbol's probability over training, on known and on new scaffolds.

Familiar scaffolds are learnt earlier (a), but the rule they teach does not carry over to scaffolds
drawn at random (b).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from espalier.experiments.intervals import summarise
from espalier.experiments.models import Models, Scale, familiarity
from espalier.experiments.shelf import DOMAINS, Shelf
from espalier.runs import Row

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

SIDES = {
    "in_domain": "P(close)\n(a) scaffolds of training",
    "out_of_domain": "P(close)\n(b) random scaffolds",
}


@dataclass(frozen=True)
class Config:
    """The models whose predictions are shown after every epoch."""

    models: Models = field(default_factory=Models)

    @classmethod
    def at(cls, scale: Scale) -> Config:
        """The preset of a scale."""
        return cls(familiarity(scale))


def measure(config: Config, shelf: Shelf) -> list[Row]:
    """One row a member, epoch and test set: `probability`, the mean over test sequences."""
    names = ("length", "setting", "rules", "seed")
    return [
        {name: row[name] for name in names}
        | {"epoch": int(row["epoch"]), "domain": domain, "probability": row[domain]}
        for row in shelf.trained(config.models).metrics()
        for domain in DOMAINS
    ]


def run(config: Config, shelf: Shelf) -> pandas.DataFrame:
    """The rows as a table."""
    import pandas as pd

    return pd.DataFrame(measure(config, shelf))


def tabulate(rows: pandas.DataFrame) -> pandas.DataFrame:
    """The last epoch, with intervals over seeds."""
    last = rows[rows["epoch"] == rows["epoch"].max()]
    return summarise(last, "probability", by=["length", "setting", "domain"])


def draw(rows: pandas.DataFrame) -> Figure:
    """A column a scaffold length, a row a test set."""
    from espalier.show.figures import Facets, draw_bands

    table = summarise(rows, "probability", by=["length", "setting", "domain", "epoch"])
    facets = Facets(
        x="epoch",
        line="setting",
        across="length",
        down="domain",
        x_label="epoch",
        titles="scaffold length {}",
        sides=SIDES,
        limits=(-0.02, 1.02),
    )
    return draw_bands(table, facets)
