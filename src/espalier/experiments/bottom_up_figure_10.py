"""Figure 10: interdependence of open symbol and scaffold over training.

DI = |h(open, scaffold) - h(open) - h(scaffold)| / |h(open, scaffold)| of hidden states at the last
scaffold token; the same of logits, which the earlier paper shows, is computed beside it. The
figure is of scaffolds of the training set.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from espalier.experiments.intervals import summarise
from espalier.experiments.models import Models, Scale, familiarity
from espalier.experiments.readings import RuleReader
from espalier.experiments.shelf import DOMAINS, Shelf
from espalier.runs import Row

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

Space = Literal["hidden", "logits"]


@dataclass(frozen=True)
class Config:
    """The models, decomposed at every epoch that they keep."""

    models: Models = field(default_factory=Models)

    @classmethod
    def at(cls, scale: Scale) -> Config:
        """The preset of a scale."""
        return cls(familiarity(scale))


def measure(config: Config, shelf: Shelf) -> list[Row]:
    """One row a member, epoch and test set: `hidden` and `logits`, means over test sequences."""
    rows: list[Row] = []
    close = config.models.corpus.close
    for epoch, group, weights, shape in shelf.trained(config.models).walk(config.models.kept):
        for domain in DOMAINS:
            reader = RuleReader.of(weights, shape, group.examples(domain), close=close)
            found = reader.interdependence()
            pairs = zip(found["hidden"], found["logits"], strict=True)
            values: list[Row] = [{"hidden": hidden, "logits": logits} for hidden, logits in pairs]
            rows += group.label(values, epoch=epoch, domain=domain)
    return rows


def run(config: Config, shelf: Shelf) -> pandas.DataFrame:
    """The rows as a table."""
    import pandas as pd

    return pd.DataFrame(measure(config, shelf))


def tabulate(rows: pandas.DataFrame) -> pandas.DataFrame:
    """The last epoch, with intervals over seeds."""
    return tabulate_space(rows, "hidden")


def draw(rows: pandas.DataFrame) -> Figure:
    """A column a scaffold length; scaffolds of the training set, as in the paper."""
    return draw_space(rows, "hidden")


def tabulate_space(rows: pandas.DataFrame, space: Space) -> pandas.DataFrame:
    """The last epoch in one of the two spaces."""
    last = rows[rows["epoch"] == rows["epoch"].max()]
    return summarise(last, space, by=["length", "setting", "domain"])


def draw_space(rows: pandas.DataFrame, space: Space) -> Figure:
    """The figure in one of the two spaces."""
    from espalier.show.figures import Facets, draw_bands

    shown = rows[rows["domain"] == "in_domain"]
    table = summarise(shown, space, by=["length", "setting", "epoch"])
    named = {"hidden": "hidden states", "logits": "logits"}
    facets = Facets(
        x="epoch",
        line="setting",
        across="length",
        x_label="epoch",
        titles="scaffold length {}",
        side=f"DI(open, scaffold), {named[space]}\nscaffolds of training",
    )
    return draw_bands(table, facets)
