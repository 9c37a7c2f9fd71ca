"""When does syntax appear? The effect of tree distance, and the probe, at moments of training."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from espalier.experiments.languages import Language, english_in_training
from espalier.experiments.models import Scale
from espalier.experiments.moments import Moments, syntax_rows, table_of
from espalier.experiments.shelf import Shelf

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

MEASURES = {"effect": "effect of an edge on log DI", "probe": "UUAS, no crossings"}


@dataclass(frozen=True)
class Config:
    """The language, and all moments of its models' training that are kept."""

    language: Language = field(default_factory=lambda: english_in_training("paper"))

    @classmethod
    def at(cls, scale: Scale) -> Config:
        """The preset of a scale."""
        return cls(english_in_training(scale))


def run(config: Config, shelf: Shelf) -> pandas.DataFrame:
    """One row a model, moment, space and measure: value, low and high."""
    return over_training(shelf.rows(syntax_rows, Moments(config.language, "all")))


def over_training(rows: pandas.DataFrame) -> pandas.DataFrame:
    """The two measures of every moment, from its summary."""
    import pandas as pd

    effects = table_of(rows, "effect")
    whole = (effects["distance"] == 0) & (effects["outcome"] == "log DI")
    effects = effects[whole & (effects["name"] == "tree distance")]
    probe = table_of(rows, "probe")
    grown = (probe["weights"] == "DI") & (probe["shape"] == "noncrossing")
    columns = ["seed", "epoch", "space", "value", "low", "high"]
    parts = {
        "effect": effects.rename(columns={"estimate": "value"})[columns],
        "probe": probe[grown].rename(columns={"uuas": "value"})[columns],
    }
    return pd.concat([part.assign(measure=name) for name, part in parts.items()], ignore_index=True)


def tabulate(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Every moment, hidden states, over models."""
    some = rows[rows["space"] == "hidden"]
    groups = some.groupby(["measure", "epoch"], as_index=False)
    found: pandas.DataFrame = groups[["value", "low", "high"]].mean()
    return found


def draw(rows: pandas.DataFrame) -> Figure:
    """A panel a measure, over epochs."""
    from espalier.show.figures import draw_over_training

    return draw_over_training(rows, MEASURES)
