"""Figure 11: how often a rule must be seen, by scaffold length.

P(close | open) and P(close | scaffold) by contextual decomposition after 40 epochs, for several
numbers of rules in the corpus, unfamiliar scaffolds. Test scaffolds are random, as the corpus of
Appendix B is; those of training are computed too. The models with the usual number of rules are
those of the other figures.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from espalier.experiments.intervals import summarise
from espalier.experiments.models import Models, Scale, familiarity, frequency
from espalier.experiments.readings import RuleReader
from espalier.experiments.shelf import DOMAINS, Shelf
from espalier.runs import Row

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Config:
    """Models with the usual number of rules and with others, read after one epoch of both."""

    usual: Models = field(default_factory=Models)
    others: Models = field(default_factory=lambda: frequency("paper"))
    epoch: int = 40

    @classmethod
    def at(cls, scale: Scale) -> Config:
        """The preset of a scale."""
        others = frequency(scale)
        return cls(familiarity(scale), others, others.kept[-1])


def measure(config: Config, shelf: Shelf) -> list[Row]:
    """One row a member, test set and focus (open or scaffold): `probability`."""
    rows: list[Row] = []
    for models in (config.usual, config.others):
        for epoch, group, weights, shape in shelf.trained(models).walk((config.epoch,)):
            for domain in DOMAINS:
                examples, close = group.examples(domain), models.corpus.close
                reader = RuleReader.of(weights, shape, examples, close=close)
                for focus, places in (("open", [0]), ("scaffold", range(1, group.length + 1))):
                    values: list[Row] = [
                        {"probability": p} for p in reader.close_probability(places)
                    ]
                    rows += group.label(values, epoch=epoch, domain=domain, focus=focus)
    return [row for row in rows if row["setting"] == "unfamiliar"]


def run(config: Config, shelf: Shelf) -> pandas.DataFrame:
    """The rows as a table."""
    import pandas as pd

    return pd.DataFrame(measure(config, shelf))


def tabulate(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Random scaffolds, with intervals over seeds."""
    shown = rows[rows["domain"] == "out_of_domain"]
    return summarise(shown, "probability", by=["rules", "length", "focus"])


def draw(rows: pandas.DataFrame) -> Figure:
    """A column a number of rules; the probability on a logarithmic axis."""
    from espalier.show.figures import Facets, Look, draw_bands

    facets = Facets(
        x="length",
        line="focus",
        across="rules",
        x_label="scaffold length k",
        titles="{} rules",
        side="P(close | focus)\nrandom scaffolds",
        looks={
            "open": Look("#1b1f27", "-", "o", "open symbol in focus"),
            "scaffold": Look("#2b62c4", "--", "^", "scaffold in focus"),
        },
        logarithmic=True,
    )
    return draw_bands(tabulate(rows), facets)
