"""docs/results/scaffolds.md from committed rows: `python -m docs.pages scaffolds`.

Reads docs/results/data/scaffold.metrics.parquet; draws docs/images/scaffold-learning.png.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from docs.pages.filling import DOCS, fill, markdown, write_picture
from espalier.experiments import find
from espalier.files import write_text

DOMAINS = ["in_domain", "out_of_domain"]
MODEL = ["length", "setting"]
LEARNT = 0.5  # in domain


def scaffolds(docs: Path = DOCS) -> list[str]:
    """Fill the page; return the names of the blocks filled."""
    rows = pd.read_parquet(docs / "results/data/scaffold.metrics.parquet")
    long = rows.melt([*MODEL, "seed", "epoch"], DOMAINS, "domain", "probability")
    (docs / "images").mkdir(exist_ok=True)
    figure = find("bottom-up-figure-7").draw(long)
    write_picture(docs / "images/scaffold-learning.png", figure)
    page = docs / "results/scaffolds.md"
    blocks = {"learning": markdown(learning(rows))}
    write_text(page, fill(page.read_text(encoding="utf-8"), blocks))
    return list(blocks)


def learning(rows: pd.DataFrame) -> pd.DataFrame:
    """When the rule was learnt, and both test sets after the last epoch, a line a kind of model."""
    rows = rows.assign(learnt=rows["epoch"].where(rows["in_domain"] >= LEARNT))
    last = rows[rows["epoch"] == rows["epoch"].max()]
    seeds = rows.groupby([*MODEL, "seed"]).agg(
        learnt=("learnt", "min"), highest=("out_of_domain", "max")
    )
    learnt = seeds["learnt"].groupby(MODEL)
    ends = {name: last.groupby(MODEL)[name].agg(["mean", "min", "max"]) for name in DOMAINS}
    highest = seeds["highest"].groupby(MODEL).mean()
    found = pd.DataFrame(
        {
            "learnt by": [f"{some.count()} of {len(some)}" for _, some in learnt],
            "median epoch learnt": [f"{some.median():g}" for _, some in learnt],
            "in domain": [spread(row) for _, row in ends["in_domain"].iterrows()],
            "out of domain": [spread(row) for _, row in ends["out_of_domain"].iterrows()],
            "highest out of domain": [f"{one:.3f}" for one in highest],
        },
        index=highest.index,
    )
    return found.reset_index()


def spread(row: pd.Series) -> str:
    """The mean, and the lowest and highest seed."""
    return f"{row['mean']:.3f} ({row['min']:.3f} to {row['max']:.3f})"
