"""Statements in the papers' text on Figures 3 and 7, 5 and 9, 10 and 11, decided like the claims.

Figures of the papers are numbered as in the later one. The statements are the papers' own words,
shortened. They leave open which test set Figure 9 shows, so both are tested. Bounds were set after
the rows had been seen; with the intervals, others can be chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from espalier.experiments.cache import RunCache
from espalier.experiments.claims import LEARNT, Claim
from espalier.experiments.experiment import Experiment, Row, Scale
from espalier.experiments.rare_rule_claims import rare_rule_claims
from espalier.experiments.scaffold_claims import decide, draw, tabulate
from espalier.experiments.scaffold_figures import CLOSE, FREQUENCY, GROWING
from espalier.experiments.scaffold_rows import GrowingFocus, OverEpochs, RuleFrequency

if TYPE_CHECKING:
    import pandas

FALL = 0.05  # any curve's end is below its highest point; this much is more than noise
TEST_SETS = {"in_domain": "scaffolds of training", "out_of_domain": "random scaffolds"}


@dataclass(frozen=True)
class FurtherClaims:
    """The settings of Figures 7, 9 and 11."""

    over_epochs: OverEpochs
    growing: GrowingFocus
    frequency: RuleFrequency

    @classmethod
    def at(cls, scale: Scale) -> FurtherClaims:
        """The preset of a scale."""
        return cls(OverEpochs.at(scale), GrowingFocus.at(scale), RuleFrequency.at(scale))


def measure(config: FurtherClaims, cache: RunCache) -> list[Row]:
    """One row per claim and scaffold length: the number, its interval, and whether it holds."""
    import pandas as pd

    parts = {7: (CLOSE, config.over_epochs), 9: (GROWING, config.growing)}
    both: dict[int, tuple[Experiment, Any]] = parts | {11: (FREQUENCY, config.frequency)}
    tables = {
        number: pd.DataFrame(cache.rows(figure.measure, own))
        for number, (figure, own) in both.items()
    }
    chance = 1 / config.over_epochs.models.corpus.vocabulary_size
    rows: list[Row] = decide(tables, chance=chance, chosen=further_claims()).to_dict("records")
    return rows


def further_claims() -> tuple[Claim, ...]:
    """The statements, each with the quantity that decides it."""
    return (*_overtraining(), *_growing_focus(), *rare_rule_claims())


def _overtraining() -> tuple[Claim, ...]:
    highest = "highest P(close) over training, scaffolds of training"
    return (
        Claim(
            key="6a",
            statement="the maximum reached is lower with familiar scaffolds",
            quantity=f"{highest}, familiar - unfamiliar",
            figure=7,
            values=lambda pair: _peak(pair.familiar) - _peak(pair.unfamiliar),
            side="below",
        ),
        Claim(
            key="6b",
            statement="and is brittle to overtraining",
            quantity=f"{highest} - P(close) at the end, familiar",
            figure=7,
            values=lambda pair: _peak(pair.familiar) - _end(pair.familiar),
            bound=lambda _: FALL,
        ),
    )


def _growing_focus() -> tuple[Claim, ...]:
    gains = (
        Claim(
            key=key,
            statement=f"with familiar ones it increases with each scaffold symbol: {words}",
            quantity=f"least gain in P(close) by a further symbol in focus, at the end, {words}",
            figure=9,
            values=lambda pair, domain=domain: _least_gain(pair.familiar, domain),  # type: ignore[misc]
        )
        for key, (domain, words) in zip(("7b", "7c"), TEST_SETS.items(), strict=True)
    )
    return (
        Claim(
            key="7a",
            statement="with unfamiliar scaffolds the open symbol alone gives a high probability",
            quantity="P(close | open) at the end, unfamiliar, the lower of both test sets",
            figure=9,
            values=lambda pair: _by_focus(pair.unfamiliar)[0].groupby("seed").min(),
            bound=lambda _: LEARNT,
        ),
        *gains,
    )


def _peak(rows: pandas.DataFrame) -> pandas.Series:
    return rows[rows["domain"] == "in_domain"].groupby("seed")["probability"].max()


def _end(rows: pandas.DataFrame) -> pandas.Series:
    some = rows[(rows["domain"] == "in_domain") & (rows["epoch"] == rows["epoch"].max())]
    return some.set_index("seed")["probability"]


def _by_focus(rows: pandas.DataFrame) -> pandas.DataFrame:
    """After the last epoch: one row per test set and seed, one column per focus size."""
    last = rows[rows["epoch"] == rows["epoch"].max()]
    return last.pivot(index=["domain", "seed"], columns="in_focus", values="probability")


def _least_gain(rows: pandas.DataFrame, domain: str) -> pandas.Series:
    return _by_focus(rows).loc[domain].sort_index(axis=1).diff(axis=1).min(axis=1)


EXPERIMENTS = {
    "scaffold-claims-further": Experiment(
        "what the papers say beside Figures 7, 9 and 11, decided with numbers",
        FurtherClaims.at,
        measure,
        tabulate,
        draw,
        needs=("pandas", "scipy"),
    )
}
