"""Minimal versions as training sets grow: the table and the picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from espalier.experiments.experiment import Experiment
from espalier.experiments.intervals import summarise
from espalier.experiments.minimal_versions import MinimalVersions, measure

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


def shares(rows: pandas.DataFrame) -> pandas.DataFrame:
    """The share of rules kept and of right answers, with intervals over seeds."""
    import pandas as pd

    parts = {
        "rules kept": rows["rules"] / rows["all_rules"],
        "right answers": rows["right"] / rows["tested"],
    }
    found = [
        summarise(rows.assign(share=share), "share", by=["program", "inputs"]).assign(of=name)
        for name, share in parts.items()
    ]
    return pd.concat(found, ignore_index=True)


def tabulate(rows: pandas.DataFrame) -> pandas.DataFrame:
    """One row per program and size of the training set: rules kept, share of right answers."""
    kept = summarise(rows, "rules", by=["program", "inputs"])
    right = shares(rows).query("of == 'right answers'").drop(columns="of")
    table = right.reset_index(drop=True)
    table.insert(2, "rules", kept["mean"].map("{:.4g}".format))
    table.insert(3, "of", table["program"].map(rows.groupby("program")["all_rules"].first()))
    return table


def draw(rows: pandas.DataFrame) -> Figure:
    """One panel per program: shares of rules kept and of right answers as training sets grow."""
    from espalier.show.figures import draw_shares

    return draw_shares(shares(rows), x="inputs", panel="program", line="of")


EXPERIMENTS = {
    "minimal-versions": Experiment(
        "minimal versions of every program as the training set grows",
        MinimalVersions.at,
        measure,
        tabulate,
        draw,
    )
}
