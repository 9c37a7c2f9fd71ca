"""The papers' five claims about scaffolds, decided: each a number, an interval and a verdict.

The criteria are in `espalier.experiments.claims`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from espalier.experiments.cache import RunCache
from espalier.experiments.claims import Claim, Pair, claims
from espalier.experiments.experiment import Experiment, Row, Scale
from espalier.experiments.intervals import over_seeds, verdict_on
from espalier.experiments.scaffold_figures import CLOSE, FROM_OPEN, GRADIENTS, HIDDEN
from espalier.experiments.scaffold_rows import Gradients, OverEpochs

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


FIGURES = {7: CLOSE, 8: FROM_OPEN, 10: HIDDEN, 12: GRADIENTS}  # what the claims rest on


@dataclass(frozen=True)
class Claims:
    """The models of Figures 7, 8 and 10, and the settings of Figure 12."""

    over_epochs: OverEpochs
    gradients: Gradients

    @classmethod
    def at(cls, scale: Scale) -> Claims:
        """The preset of a scale."""
        return cls(OverEpochs.at(scale), Gradients.at(scale))


def measure(config: Claims, cache: RunCache) -> list[Row]:
    """One row per claim and scaffold length: the number, its interval, and whether it holds."""
    chance = 1 / config.over_epochs.models.corpus.vocabulary_size
    rows: list[Row] = decide(rows_by_figure(config, cache), chance=chance).to_dict("records")
    return rows


def rows_by_figure(config: Claims, cache: RunCache) -> dict[int, pandas.DataFrame]:
    """The rows of every figure that the claims rest on."""
    import pandas as pd

    configs = dict.fromkeys(FIGURES, config.over_epochs) | {12: config.gradients}
    return {
        number: pd.DataFrame(cache.rows(figure.measure, configs[number]))
        for number, figure in FIGURES.items()
    }


def decide(
    tables: Mapping[int, pandas.DataFrame], *, chance: float, chosen: Sequence[Claim] | None = None
) -> pandas.DataFrame:
    """The claims, by default the five, by their figures' rows; length 0 is all lengths together."""
    import pandas as pd

    found = []
    for claim in chosen or claims():
        rows = tables[claim.figure]
        for length, some in [(0, rows)] if claim.over_lengths else rows.groupby("length"):
            familiar = some["setting"] == "familiar"
            pair = Pair(some[familiar], some[~familiar], chance)
            found.append(_judge(claim, pair) | {"length": length})
    return pd.DataFrame(found)


def _judge(claim: Claim, pair: Pair) -> dict[str, Any]:
    interval, bound = over_seeds(claim.values(pair).to_numpy()), claim.bound(pair)
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
    """One row per claim: its verdict, and the number at every length with its interval."""
    import pandas as pd

    found = []
    for (key, statement), some in rows.groupby(["claim", "statement"], sort=True):
        numbers = {
            f"k = {row.length or 'all'}": f"{row.mean:.3g} [{row.low:.3g}, {row.high:.3g}]"
            for row in some.itertuples()
        }
        holds_if = f"{some['side'].iloc[0]} {some['bound'].iloc[0]:.3g}"
        words = {"claim": key, "statement": statement, "verdict": verdict(some)}
        found.append(words | {"holds if": holds_if} | numbers)
    return pd.DataFrame(found).fillna("")


def verdict(rows: pandas.DataFrame) -> str:
    """A claim's verdict: holds, does not hold, not decided, or the lengths at which it holds."""
    held = [str(length) for length in rows[rows["holds"]]["length"]]
    if held and len(held) < len(rows):
        return f"holds at length {', '.join(held)} only"
    return verdict_on(rows)


def draw(rows: pandas.DataFrame) -> Figure:
    """One panel per claim: the number at every length with its interval, filled where it holds."""
    from espalier.show.figures import draw_verdicts

    return draw_verdicts(rows)


EXPERIMENTS = {
    "scaffold-claims": Experiment(
        "the papers' five claims about scaffolds, decided with numbers",
        Claims.at,
        measure,
        tabulate,
        draw,
        needs=("pandas", "scipy"),
    )
}
