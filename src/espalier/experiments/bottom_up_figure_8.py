"""Figure 8: what the open symbol alone says about the close symbol, by contextual decomposition.

P(close | open) = softmax(W h), h being the part of the hidden state that is owed to the open
symbol, at the last scaffold token, on random scaffolds (the figure's) and on those of training.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from espalier.experiments.intervals import summarise
from espalier.experiments.models import Models, Scale, familiarity
from espalier.experiments.readings import RuleReader
from espalier.experiments.shelf import DOMAINS, Shelf
from espalier.runs import Row

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Config:
    """The models, decomposed at every epoch that they keep."""

    models: Models = field(default_factory=Models)

    @classmethod
    def at(cls, scale: Scale) -> Config:
        """The preset of a scale."""
        return cls(familiarity(scale))


def measure(config: Config, shelf: Shelf) -> list[Row]:
    """One row a member, epoch and test set: `probability`, the mean over test sequences."""
    rows: list[Row] = []
    close = config.models.corpus.close
    for epoch, group, weights, shape in shelf.trained(config.models).walk(config.models.kept):
        for domain in DOMAINS:
            reader = RuleReader.of(weights, shape, group.examples(domain), close=close)
            values: list[Row] = [{"probability": p} for p in reader.close_probability([0])]
            rows += group.label(values, epoch=epoch, domain=domain)
    return rows


def run(config: Config, shelf: Shelf) -> pandas.DataFrame:
    """The rows as a table."""
    import pandas as pd

    return pd.DataFrame(measure(config, shelf))


def tabulate(rows: pandas.DataFrame) -> pandas.DataFrame:
    """The last epoch, with intervals over seeds."""
    last = rows[rows["epoch"] == rows["epoch"].max()]
    return summarise(last, "probability", by=["length", "setting", "domain"])


def draw(rows: pandas.DataFrame) -> Figure:
    """A column a scaffold length; random scaffolds, as in the paper."""
    from espalier.show.figures import Facets, draw_bands

    shown = rows[rows["domain"] == "out_of_domain"]
    table = summarise(shown, "probability", by=["length", "setting", "epoch"])
    facets = Facets(
        x="epoch",
        line="setting",
        across="length",
        x_label="epoch",
        titles="scaffold length {}",
        side="P(close | open)\nrandom scaffolds",
        limits=(-0.02, 1.02),
    )
    return draw_bands(table, facets)
