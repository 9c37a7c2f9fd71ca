"""Figure 9: the close symbol's probability as scaffold tokens join the open symbol in focus.

At i = 0 the open symbol is in focus alone, at i = k the whole rule before its close symbol. If the
probability rises with i, it is owed to interactions with the scaffold. The caption names no test
set; both are computed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from espalier.errors import ConfigError
from espalier.experiments.intervals import summarise
from espalier.experiments.models import Models, Scale, familiarity
from espalier.experiments.readings import RuleReader
from espalier.experiments.shelf import DOMAINS, Shelf
from espalier.runs import Row

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

SIDES = {
    "in_domain": "P(close | open + i tokens)\nscaffolds of training",
    "out_of_domain": "P(close | open + i tokens)\nrandom scaffolds",
}


@dataclass(frozen=True)
class Config:
    """The models of one scaffold length, at a few epochs."""

    models: Models = field(default_factory=Models)
    length: int = 8
    epochs: tuple[int, ...] = (5, 10, 20, 50)

    def __post_init__(self) -> None:
        if self.length not in self.models.lengths:
            raise ConfigError(
                f"no model has scaffolds of length {self.length}; lengths: {self.models.lengths}"
            )

    @classmethod
    def at(cls, scale: Scale) -> Config:
        """The preset of a scale."""
        paper, models = cls(), familiarity(scale)
        match scale:
            case "paper":
                return paper
            case "small":
                return replace(paper, models=models, epochs=(4, 8, 12, 16))
            case "smoke":
                return replace(paper, models=models, length=4, epochs=(1, 2))


def measure(config: Config, shelf: Shelf) -> list[Row]:
    """One row a member, epoch, test set and number of scaffold tokens in focus: `probability`."""
    rows: list[Row] = []
    close = config.models.corpus.close
    for epoch, group, weights, shape in shelf.trained(config.models).walk(config.epochs):
        if group.length != config.length:
            continue
        for domain in DOMAINS:
            reader = RuleReader.of(weights, shape, group.examples(domain), close=close)
            for i in range(config.length + 1):
                found = reader.close_probability(range(i + 1))
                values: list[Row] = [{"probability": p} for p in found]
                rows += group.label(values, epoch=epoch, domain=domain, in_focus=i)
    return rows


def run(config: Config, shelf: Shelf) -> pandas.DataFrame:
    """The rows as a table."""
    import pandas as pd

    return pd.DataFrame(measure(config, shelf))


def tabulate(rows: pandas.DataFrame) -> pandas.DataFrame:
    """The last epoch, with intervals over seeds."""
    last = rows[rows["epoch"] == rows["epoch"].max()]
    return summarise(last, "probability", by=["setting", "domain", "in_focus"])


def draw(rows: pandas.DataFrame) -> Figure:
    """A column an epoch, a row a test set."""
    from espalier.show.figures import Facets, draw_bands

    table = summarise(rows, "probability", by=["setting", "domain", "epoch", "in_focus"])
    facets = Facets(
        x="in_focus",
        line="setting",
        across="epoch",
        down="domain",
        x_label=f"i, scaffold tokens in focus beside the open symbol (k = {rows['length'].max()})",
        titles="epoch {}",
        sides=SIDES,
        limits=(-0.02, 1.02),
    )
    return draw_bands(table, facets)
