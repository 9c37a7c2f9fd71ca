"""The learning page's readable traces at the paper's sizes: what is there, by program.

Rows of `espalier reproduce alta-readable --scale paper` are in docs/results/data/learning,
and beside them every measure of training and the manifests of the runs.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from docs.pages.filling import interval, join_rows, markdown
from docs.pages.parity import TRAINED_TO
from docs.pages.runs import Manifests, of_kind
from espalier.experiments import PROGRAMS
from espalier.experiments.intervals import over_seeds

NAME = "alta-readable"
SLICES = {  # by the number of bits, and of ones
    f"length <= {TRAINED_TO}": ("length", 0, TRAINED_TO),
    f"length > {TRAINED_TO}": ("length", TRAINED_TO + 1, 2 * TRAINED_TO),
    f"ones > {TRAINED_TO}": ("ones", TRAINED_TO + 1, 2 * TRAINED_TO),
}


def readable_blocks(data: Path, manifests: Manifests) -> dict[str, str]:
    """The section's table: shares of test strings with t intervals, and what training came to."""
    rows = join_rows(data, NAME, ["program", "seed"])
    curves = join_rows(data, f"{NAME}-curves", ["program", "seed"])
    lines = []
    for program, own in rows.groupby("program", sort=False):
        runs = of_kind(manifests, "readable")
        run = next(one for name, one in runs.items() if name.startswith(f"readable-{program}-"))
        ends = curves[curves["program"] == program].sort_values("step").groupby("seed").last()
        line = {"program": PROGRAMS[program], "seeds": own["seed"].nunique()}
        line |= {name: share(own, *slice_) for name, slice_ in SLICES.items()}
        line |= {"values of training read": shown(ends["read"]), "steps": f"{own['step'].max():,}"}
        lines.append(line | {"seconds": round(run["seconds"]), "device": run["device"]})
    return {"readable-paper": markdown(pd.DataFrame(lines))}


def share(rows: pd.DataFrame, by: str, least: int, most: int) -> str:
    """Of the strings of a slice, those that are answered rightly."""
    some = rows[rows[by].between(least, most)].groupby("seed")[["right", "strings"]].sum()
    return shown(some["right"] / some["strings"])


def shown(shares: pd.Series) -> str:
    return interval(pd.Series(vars(over_seeds(shares.to_numpy()))))
