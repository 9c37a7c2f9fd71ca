"""ALTA, Table 3: how far Transformers trained end to end on parity generalise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from espalier.experiments.learners import end_to_end
from espalier.experiments.models import Scale
from espalier.experiments.strings import both_ways, shares_by, slices, transformer_cells
from espalier.runs import Row
from espalier.training.parity import ParityRun

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from espalier.experiments.shelf import Shelf
    from espalier.show.figures import Look

KINDS = ["layers", "sharing", "positions"]
_STYLES = (
    ("#1b1f27", "-", "o"),
    ("#1f6fb4", "--", "s"),
    ("#d02f2f", ":", "^"),
    ("#2f8f4e", "-.", "D"),
)


@dataclass(frozen=True)
class Config:
    """The Transformers."""

    runs: tuple[ParityRun, ...] = field(default_factory=lambda: end_to_end("paper"))

    @classmethod
    def at(cls, scale: Scale) -> Config:
        """The preset of a scale."""
        return cls(end_to_end(scale))


def measure(config: Config, shelf: Shelf) -> list[Row]:
    """One row a kind of Transformer, seed, length and number of ones."""
    return shelf.gather(transformer_cells, config.runs)


def run(config: Config, shelf: Shelf) -> pandas.DataFrame:
    """The rows as a table."""
    import pandas as pd

    return pd.DataFrame(measure(config, shelf))


def tabulate(rows: pandas.DataFrame) -> pandas.DataFrame:
    """The paper's table."""
    return slices(rows, KINDS)


def draw(rows: pandas.DataFrame) -> Figure:
    """By length and by number of ones; a row of panels for each kind of positions."""
    from espalier.show.figures import Facets, draw_bands

    named = with_names(rows)
    facets = Facets(
        x="x",
        line="model",
        across="axis",
        down="positions",
        titles="by {}",
        sides={kind: f"accuracy\n{kind} positions" for kind in ("relative", "absolute")},
        looks=looks(named),
        limits=(-0.02, 1.05),
    )
    return draw_bands(both_ways(named, ["model", "positions"]), facets)


def draw_by_ones(rows: pandas.DataFrame, *, of: str, side: str) -> Figure:
    """Shares of `of` by number of ones, relative positions: a panel a Transformer.

    Two curves that swing between 0 and 1 cannot be told apart in one panel.
    """
    from espalier.show.figures import Facets, Look, draw_bands

    relative = rows[rows["positions"] == "relative"]
    facets = Facets(
        x="ones",
        line="positions",
        across="layers",
        down="sharing",
        x_label="number of ones",
        titles="{} layers",
        sides={"no": f"{side}\nown weights", "yes": f"{side}\nshared weights"},
        looks={"relative": Look("#1b1f27", "-", "o", "relative positions")},
        limits=(-0.02, 1.05),
    )
    return draw_bands(shares_by(relative, [*KINDS, "ones"], of=of), facets)


def with_names(rows: pandas.DataFrame) -> pandas.DataFrame:
    """The rows with a name for depth and sharing: `model`."""
    plural = rows["layers"].astype(str) + rows["layers"].eq(1).map(
        {True: " layer", False: " layers"}
    )
    return rows.assign(model=plural + rows["sharing"].map({"yes": ", shared", "no": ""}))


def looks(named: pandas.DataFrame) -> dict[str, Look]:
    """How each model's curve is drawn, the shallow ones first."""
    from espalier.show.figures import Look

    models = named.sort_values(["layers", "sharing"])["model"].unique()
    return {model: Look(*style) for model, style in zip(models, _STYLES, strict=False)}
