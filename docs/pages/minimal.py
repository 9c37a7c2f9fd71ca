"""docs/results/minimal.md from committed rows: `python -m docs.pages minimal`.

Reads docs/results/data/minimal, where rows.parquet of `espalier reproduce minimal-versions` is put.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from docs.pages.filling import DOCS, fill, markdown, write_picture
from espalier.experiments import find
from espalier.experiments.minimal_figures import tabulate
from espalier.files import write_text

NAME = "minimal-versions"


def minimal(docs: Path = DOCS) -> list[str]:
    """Fill docs/results/minimal.md; return the names of the blocks filled."""
    rows = pd.read_parquet(docs / "results/data/minimal" / f"{NAME}.parquet")
    pictures = docs / "images/minimal"
    pictures.mkdir(parents=True, exist_ok=True)
    write_picture(pictures / f"{NAME}.png", find(NAME).draw(rows))
    table = tabulate(rows)
    blocks = {"rules": markdown(wide(table, kept)), "right": markdown(wide(table, right))}
    page = docs / "results/minimal.md"
    write_text(page, fill(page.read_text(encoding="utf-8"), blocks))
    return list(blocks)


def kept(row) -> str:
    return f"{float(row.rules):.0f}"


def right(row) -> str:
    return f"{100 * row.mean:.0f}% [{100 * row.low:.0f}, {100 * row.high:.0f}]"


def wide(table: pd.DataFrame, cell) -> pd.DataFrame:
    """A row a program, a column a size of the training set."""
    cells = [cell(row) for row in table.itertuples()]
    found = table.assign(cell=cells).pivot(index=["program", "of"], columns="inputs", values="cell")
    return found.rename(columns="{:,}".format).reset_index().rename(columns={"of": "all rules"})
