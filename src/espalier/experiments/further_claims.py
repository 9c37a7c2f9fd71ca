"""What the papers say beside Figures 3 and 7, 5 and 9, 10 and 11, decided as their claims are.

Figures of the papers are numbered as in the later one. The statements are the papers' own words,
shortened. They leave open which test set Figure 9 shows, so that it is asked of both. Bounds were
set when the rows had been seen: the intervals let anyone choose others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from espalier.experiments.cache import RunCache
from espalier.experiments.claims import LEARNT, TIMES_CHANCE, Claim, Pair
from espalier.experiments.experiment import Experiment, Row, Scale
from espalier.experiments.scaffold_claims import decide, draw, tabulate
from espalier.experiments.scaffold_figures import CLOSE, FREQUENCY, GROWING
from espalier.experiments.scaffold_rows import GrowingFocus, OverEpochs, RuleFrequency

if TYPE_CHECKING:
    import pandas

FALL = 0.05  # any curve's end is below its highest point; this much is more than noise
STEADY = 0.5  # the share of a probability that is left from the shortest to the longest scaffold
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
    """One row a claim and scaffold length: the number, its interval, and whether it holds."""
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
    """The statements, with what decides each."""
    return (*_overtraining(), *_growing_focus(), *_rare_rules())


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


def _rare_rules() -> tuple[Claim, ...]:
    rarest = "from the shortest to the longest scaffold, fewest rules, random scaffolds"
    return (
        Claim(
            key="8a",
            statement="a longer scaffold requires more examples",
            quantity=f"rules until P(close | open) is {LEARNT}: log10, longest - shortest scaffold",
            figure=11,
            values=_more_rules,
            over_lengths=True,
        ),
        Claim(
            key="8b",
            statement="the scaffold as a phrase gives an extremely low probability",
            quantity="highest P(close | scaffold) of all lengths and numbers of rules",
            figure=11,
            values=lambda pair: _rule_table(pair, "scaffold").groupby("seed").max(),
            side="below",
            bound=lambda pair: TIMES_CHANCE * pair.chance,
            over_lengths=True,
        ),
        Claim(
            key="8c",
            statement="if rules are extremely rare, the open symbol's is low but steady",
            quantity=f"share of P(close | open) that is left {rarest}",
            figure=11,
            values=lambda pair: _share_left(pair, "open"),
            bound=lambda _: STEADY,
            over_lengths=True,
        ),
        Claim(
            key="8d",
            statement="while the scaffold's declines with its length",
            quantity=f"share of P(close | scaffold) that is left {rarest}",
            figure=11,
            values=lambda pair: _share_left(pair, "scaffold"),
            side="below",
            bound=lambda _: 1.0,
            over_lengths=True,
        ),
    )


def _peak(rows: pandas.DataFrame) -> pandas.Series:
    return rows[rows["domain"] == "in_domain"].groupby("seed")["probability"].max()


def _end(rows: pandas.DataFrame) -> pandas.Series:
    some = rows[(rows["domain"] == "in_domain") & (rows["epoch"] == rows["epoch"].max())]
    return some.set_index("seed")["probability"]


def _by_focus(rows: pandas.DataFrame) -> pandas.DataFrame:
    """After the last epoch, a row a test set and seed, a column a number of symbols in focus."""
    last = rows[rows["epoch"] == rows["epoch"].max()]
    return last.pivot(index=["domain", "seed"], columns="in_focus", values="probability")


def _least_gain(rows: pandas.DataFrame, domain: str) -> pandas.Series:
    return _by_focus(rows).loc[domain].sort_index(axis=1).diff(axis=1).min(axis=1)


def _rule_table(pair: Pair, focus: str) -> pandas.Series:
    """P(close | focus) on random scaffolds by rules, length and seed; seeds that all rules have."""
    rows = pair.unfamiliar
    some = rows[(rows["focus"] == focus) & (rows["domain"] == "out_of_domain")]
    shared = some.groupby("seed")["rules"].nunique() == some["rules"].nunique()
    kept = some[some["seed"].map(shared)]
    return kept.set_index(["rules", "length", "seed"])["probability"].sort_index()


def _share_left(pair: Pair, focus: str) -> pandas.Series:
    found = _rule_table(pair, focus)
    rarest = found.loc[found.index.get_level_values("rules").min()]
    lengths = rarest.index.get_level_values("length")
    return rarest.loc[lengths.max()] / rarest.loc[lengths.min()]


def _more_rules(pair: Pair) -> pandas.Series:
    """By seed; what no number of rules reached counts as reached with ten times the most."""
    table = _rule_table(pair, "open").unstack("rules")
    most = 10 * table.columns.max()
    needed = (table >= LEARNT).apply(
        lambda row: row.index[row].min() if row.any() else most, axis=1
    )
    logs = np.log10(needed.astype(float)).unstack("seed").sort_index()
    found: pandas.Series = logs.iloc[-1] - logs.iloc[0]
    return found


EXPERIMENTS = {
    "scaffold-claims-further": Experiment(
        "what the papers say beside Figures 7, 9 and 11, decided with numbers",
        FurtherClaims.at,
        measure,
        tabulate,
        draw,
    )
}
