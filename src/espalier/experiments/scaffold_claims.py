"""The papers' five claims about scaffolds, decided: each a number, an interval and a verdict.

What decides a claim stands in `espalier.experiments.claims`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from espalier.experiments import (
    bottom_up_figure_7,
    bottom_up_figure_8,
    bottom_up_figure_10,
    bottom_up_figure_12,
)
from espalier.experiments.claims import Claim, Pair, claims
from espalier.experiments.intervals import bootstrap
from espalier.experiments.models import Scale

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from espalier.experiments.shelf import Shelf


@dataclass(frozen=True)
class Config:
    """The figures that the claims rest on."""

    figure_7: bottom_up_figure_7.Config = field(default_factory=bottom_up_figure_7.Config)
    figure_8: bottom_up_figure_8.Config = field(default_factory=bottom_up_figure_8.Config)
    figure_10: bottom_up_figure_10.Config = field(default_factory=bottom_up_figure_10.Config)
    figure_12: bottom_up_figure_12.Config = field(default_factory=bottom_up_figure_12.Config)

    @classmethod
    def at(cls, scale: Scale) -> Config:
        """The preset of a scale."""
        figures = (bottom_up_figure_7, bottom_up_figure_8, bottom_up_figure_10, bottom_up_figure_12)
        return cls(*(figure.Config.at(scale) for figure in figures))


def run(config: Config, shelf: Shelf) -> pandas.DataFrame:
    """One row a claim and scaffold length: the number, its interval, and whether it holds."""
    tables = {
        7: shelf.rows(bottom_up_figure_7.run, config.figure_7),
        8: shelf.rows(bottom_up_figure_8.run, config.figure_8),
        10: shelf.rows(bottom_up_figure_10.run, config.figure_10),
        12: shelf.rows(bottom_up_figure_12.run, config.figure_12),
    }
    return decide(tables, chance=1 / config.figure_8.models.corpus.vocabulary_size)


def decide(tables: Mapping[int, pandas.DataFrame], *, chance: float) -> pandas.DataFrame:
    """The claims by the rows of Figures 7, 8, 10 and 12."""
    import pandas as pd

    found = []
    for claim in claims():
        for length, some in tables[claim.figure].groupby("length"):
            settings = dict(tuple(some.groupby("setting")))
            pair = Pair(settings["familiar"], settings["unfamiliar"], chance)
            found.append(_judge(claim, pair) | {"length": length})
    return pd.DataFrame(found)


def _judge(claim: Claim, pair: Pair) -> dict[str, Any]:
    interval, bound = bootstrap(claim.values(pair).to_numpy()), claim.bound(pair)
    return {
        "claim": claim.key,
        "statement": claim.statement,
        "quantity": claim.quantity,
        **vars(interval),
        "side": claim.side,
        "bound": bound,
        "holds": claim.holds(interval, bound),
    }


def tabulate(rows: pandas.DataFrame) -> pandas.DataFrame:
    """One row a claim: its verdict, and the number at every length with its interval."""
    import pandas as pd

    found = []
    for (key, statement), some in rows.groupby(["claim", "statement"], sort=True):
        numbers = {
            f"k = {row.length}": f"{row.mean:.3g} [{row.low:.3g}, {row.high:.3g}]"
            for row in some.itertuples()
        }
        holds_if = f"{some['side'].iloc[0]} {some['bound'].iloc[0]:.3g}"
        words = {"claim": key, "statement": statement, "verdict": verdict(some)}
        found.append(words | {"holds if": holds_if} | numbers)
    return pd.DataFrame(found)


def verdict(rows: pandas.DataFrame) -> str:
    """Of one claim: holds, does not hold, or the lengths at which it does."""
    held = [str(length) for length in rows[rows["holds"]]["length"]]
    if len(held) == len(rows):
        return "holds"
    return f"holds at length {', '.join(held)} only" if held else "does not hold"


def draw(rows: pandas.DataFrame) -> Figure:
    """A panel a claim: the number at every length with its interval, filled where it holds."""
    from espalier.show.figures import draw_verdicts

    return draw_verdicts(rows)
