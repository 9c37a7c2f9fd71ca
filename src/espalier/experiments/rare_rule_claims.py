"""Statements in the papers' text on Figure 11: rare rules and long scaffolds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from espalier.experiments.claims import LEARNT, TIMES_CHANCE, Claim, Pair

if TYPE_CHECKING:
    import pandas

STEADY = 0.5  # the share of a probability that is left from the shortest to the longest scaffold


def rare_rule_claims() -> tuple[Claim, ...]:
    """The statements, each with the quantity that decides it."""
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


def _rule_table(pair: Pair, focus: str) -> pandas.Series:
    """P(close | focus) on random scaffolds by rules, length and seed; seeds common to all."""
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
