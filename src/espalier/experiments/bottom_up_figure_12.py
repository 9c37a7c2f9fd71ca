"""Figure 12: how large gradients are along the scaffold (Appendix C).

Three magnitudes, defined in `espalier.training.gradients`, at each place d of the scaffold,
averaged over test sequences of the training set's scaffolds and over epochs: the derivative of the
close symbol's loss by embedding and by hidden state, and the error of each place's own prediction.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from espalier.experiments.intervals import summarise
from espalier.experiments.models import Models, Scale, familiarity
from espalier.experiments.shelf import Shelf
from espalier.runs import Row, matmul_precision
from espalier.training.gradients import member_gradients

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

SIDES = {
    "embedding": "embedding\n|dE(close)/dx|",
    "hidden": "hidden state\n|dE(close)/dh|",
    "output": "output\n|dE(next)/dlogits|",
}


@dataclass(frozen=True)
class Config:
    """The models, the epochs over which magnitudes are averaged, and how many sequences."""

    models: Models = field(default_factory=Models)
    epochs: tuple[int, ...] = (5, 10, 15, 20, 25, 30, 35, 40, 45, 50)
    sequences: int = 200

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
                return replace(paper, models=models, epochs=(1, 2), sequences=10)


def measure(config: Config, shelf: Shelf) -> list[Row]:
    """One row a member, epoch, kind and place (0 is the open symbol): `l2` and `largest`."""
    rows: list[Row] = []
    for epoch, group, weights, shape in shelf.trained(config.models).walk(config.epochs):
        examples = group.examples("in_domain")
        with matmul_precision("float32"):
            found = member_gradients(weights, shape, examples, limit=config.sequences)
        for places in zip(*found, strict=True):
            rows += group.label(list(places), epoch=epoch)
    return rows


def run(config: Config, shelf: Shelf) -> pandas.DataFrame:
    """The rows as a table."""
    import pandas as pd

    return pd.DataFrame(measure(config, shelf))


def tabulate(rows: pandas.DataFrame) -> pandas.DataFrame:
    """L2 norms averaged over epochs and the places of the scaffold, with intervals over seeds."""
    inside = rows[rows["place"] > 0]
    return summarise(inside, "l2", by=["length", "kind", "setting"])


def draw(rows: pandas.DataFrame) -> Figure:
    """A column a scaffold length, a row a kind of magnitude; L2 norms on a logarithmic axis."""
    from espalier.show.figures import Facets, draw_bands

    table = summarise(rows, "l2", by=["length", "kind", "setting", "place"])
    facets = Facets(
        x="place",
        line="setting",
        across="length",
        down="kind",
        x_label="d, place in the rule (0: open symbol; the close symbol follows the last)",
        titles="scaffold length {}",
        sides=SIDES,
        logarithmic=True,
    )
    return draw_bands(table, facets)
