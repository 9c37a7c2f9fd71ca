"""docs/results/peers.md from benchmarks/results/peer-*.json: `python -m docs.pages peers`.

The rows are what `python -m benchmarks.peers` wrote.
"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from docs.pages.filling import DOCS, fill, markdown
from espalier.files import write_text

SIZES = ["parameters Tracr", "parameters here", "parameters textbook"]
SAME = "same symbols"  # with the reason where a program is refused
FIRST = 100  # Tracr's default exactness


def peers(docs: Path = DOCS) -> list[str]:
    """Fill the page; return the names of the blocks filled."""
    data = docs.parent / "benchmarks" / "results"
    tracr, alta = (read(data / f"peer-{name}.json") for name in ("tracr", "alta"))
    usual = tracr["exactness Tracr"] == FIRST
    own = tracr[usual].drop(columns=["symbols = weights", "exactness Tracr", *SIZES])
    blocks = {
        "tracr": markdown(shown(own)),
        "tracr-steeper": markdown(shown(steeper(tracr))),
        "tracr-parameters": markdown(shown(parameters(tracr[usual]))),
        "alta": markdown(shown(alta.assign(**{SAME: alta[SAME].str.split(":").str[0]}))),
    }
    page = docs / "results" / "peers.md"
    write_text(page, fill(page.read_text(encoding="utf-8"), blocks))
    return list(blocks)


def read(path: Path) -> pd.DataFrame:
    """A benchmark's rows, each number as it was written: counts stay whole."""
    return pd.DataFrame(json.loads(path.read_text(encoding="utf-8"))["rows"], dtype=object)


def steeper(rows: pd.DataFrame) -> pd.DataFrame:
    """What Tracr answers rightly of long inputs, a column for each exactness."""
    rows = rows[rows["longest"] == rows["longest"].max()]
    wide = rows.pivot(index="program", columns="exactness Tracr", values="Tracr right")
    order = rows["program"].drop_duplicates()
    wide = wide.loc[order].rename(columns="`mlp_exactness={:,}`".format)
    return wide.reset_index().rename_axis(columns=None)


def parameters(rows: pd.DataFrame) -> pd.DataFrame:
    """The sizes alone, named as the page names them."""
    names = dict(zip(SIZES, ("Tracr", "here", "here, textbook"), strict=True))
    return rows[["program", "longest", *SIZES]].rename(columns=names)


def shown(rows: pd.DataFrame) -> pd.DataFrame:
    """Every cell as it is read: seconds and milliseconds by three figures at most."""
    return rows.map(cell)


def cell(value: object) -> str:
    """Whole numbers with their thousands; others by their size."""
    if isinstance(value, float):
        return f"{value:.3f}" if value < 1 else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
