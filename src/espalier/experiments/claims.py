"""The papers' claims about scaffolds as numbers, and the criteria by which they hold.

Written before any decomposition was computed at paper scale. A claim is decided at every scaffold
length separately, from one value per seed: differences and ratios are between the two models of one
seed, which share scaffolds and first weights. A level that was never reached counts as reached
after the last epoch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from espalier.experiments.intervals import Interval

if TYPE_CHECKING:
    import pandas

LEARNT = 0.5  # a rule counts as learnt once its close symbol has this probability
TIMES_CHANCE = 10  # a part predicts the close symbol if it makes it this many times likelier


@dataclass(frozen=True)
class Pair:
    """Rows of one figure and scaffold length in both settings, and 1 / vocabulary."""

    familiar: pandas.DataFrame
    unfamiliar: pandas.DataFrame
    chance: float


@dataclass(frozen=True)
class Claim:
    """A statement and the quantity whose whole interval must lie above or below a bound."""

    key: str
    statement: str
    quantity: str
    figure: int
    values: Callable[[Pair], pandas.Series]
    side: Literal["above", "below"] = "above"
    bound: Callable[[Pair], float] = lambda _: 0.0
    over_lengths: bool = False  # one number for all lengths, not one per length

    def holds(self, interval: Interval, bound: float) -> bool:
        """Whether the interval lies on the right side of the bound."""
        return interval.low > bound if self.side == "above" else interval.high < bound


def claims() -> tuple[Claim, ...]:
    """The five claims; a claim with several parts has one key per part."""
    return (
        Claim(
            key="1",
            statement="familiar scaffolds are learnt earlier",
            quantity=f"epochs by which P(close) reaches {LEARNT} earlier, scaffolds of training",
            figure=7,
            values=lambda pair: _epochs_earlier(pair, "in_domain", LEARNT),
        ),
        Claim(
            key="2",
            statement="but the rule they teach fails out of domain",
            quantity="P(close) at the end on random scaffolds, familiar / unfamiliar",
            figure=7,
            values=_share_kept,
            side="below",
            bound=lambda _: 0.5,
        ),
        Claim(
            key="3a",
            statement="yet the open symbol alone predicts the close symbol",
            quantity="P(close | open) at the end on random scaffolds, familiar",
            figure=8,
            values=lambda pair: _at_end(pair.familiar, "out_of_domain", "probability"),
            bound=lambda pair: TIMES_CHANCE * pair.chance,
        ),
        Claim(
            key="3b",
            statement="and does so earlier than with unfamiliar scaffolds",
            quantity=f"epochs by which P(close | open) reaches {TIMES_CHANCE} x chance earlier",
            figure=8,
            values=lambda pair: _epochs_earlier(pair, "out_of_domain", TIMES_CHANCE * pair.chance),
        ),
        Claim(
            key="4a",
            statement="open symbol and scaffold are more interdependent if it is familiar",
            quantity="DI at the end, scaffolds of training, familiar - unfamiliar",
            figure=10,
            values=_more_interdependent,
        ),
        Claim(
            key="4b",
            statement="and increasingly so over training",
            quantity="DI at the end - DI at the first epoch, scaffolds of training, familiar",
            figure=10,
            values=_growth,
        ),
        *(
            Claim(
                key=key,
                statement=f"gradients along familiar scaffolds are smaller: {kind}",
                quantity=f"L2 norm ({kind}), places 1 to k, all epochs, familiar / unfamiliar",
                figure=12,
                values=lambda pair, kind=kind: _gradient_ratio(pair, kind),  # type: ignore[misc]
                side="below",
                bound=lambda _: 1.0,
            )
            for key, kind in (("5a", "embedding"), ("5b", "hidden"), ("5c", "output"))
        ),
    )


def _epochs_earlier(pair: Pair, domain: str, level: float) -> pandas.Series:
    found = [_first_epoch(rows, domain, level) for rows in (pair.unfamiliar, pair.familiar)]
    return found[0] - found[1]


def _first_epoch(rows: pandas.DataFrame, domain: str, level: float) -> pandas.Series:
    """By seed, the first epoch at which the probability has reached a level."""
    some = rows[rows["domain"] == domain]
    reached = some[some["probability"] >= level].groupby("seed")["epoch"].min()
    return reached.reindex(sorted(some["seed"].unique())).fillna(some["epoch"].max() + 1)


def _at_end(rows: pandas.DataFrame, domain: str, column: str) -> pandas.Series:
    """By seed, the value after the last epoch."""
    some = rows[(rows["domain"] == domain) & (rows["epoch"] == rows["epoch"].max())]
    return some.set_index("seed")[column].sort_index()


def _share_kept(pair: Pair) -> pandas.Series:
    settings = (pair.familiar, pair.unfamiliar)
    kept, whole = (_at_end(rows, "out_of_domain", "probability") for rows in settings)
    return kept / whole


def _more_interdependent(pair: Pair) -> pandas.Series:
    settings = (pair.familiar, pair.unfamiliar)
    familiar, unfamiliar = (_at_end(rows, "in_domain", "hidden") for rows in settings)
    return familiar - unfamiliar


def _growth(pair: Pair) -> pandas.Series:
    rows = pair.familiar
    first = rows[rows["epoch"] == rows["epoch"].min()].assign(epoch=rows["epoch"].max())
    return _at_end(rows, "in_domain", "hidden") - _at_end(first, "in_domain", "hidden")


def _gradient_ratio(pair: Pair, kind: str) -> pandas.Series:
    """By seed, the geometric mean of familiar / unfamiliar over the scaffold and all epochs."""
    logs = []
    for rows in (pair.familiar, pair.unfamiliar):
        inside = rows[(rows["kind"] == kind) & (rows["place"] > 0)]
        logs.append(np.log(inside["l2"]).groupby(inside["seed"]).mean())
    found: pandas.Series = np.exp(logs[0] - logs[1])
    return found
