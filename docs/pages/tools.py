"""docs/results/tools.md from benchmarks/results/tools.json: `python -m docs.pages tools`.

The rows are what `python -m benchmarks.tools` wrote, which fills the page too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from docs.pages.filling import DOCS, fill, markdown
from espalier.files import write_text

SIZES = ["program", "layers", "blocks", "width", "units", "longest"]


def tools(docs: Path = DOCS) -> list[str]:
    """Fill the page; return the names of the blocks filled."""
    results = docs.parent / "benchmarks" / "results" / "tools.json"
    found = json.loads(results.read_text(encoding="utf-8"))
    blocks = {"exchanges": exchanges(found), "tools": equal_outputs(found)}
    page = docs / "results" / "tools.md"
    write_text(page, fill(page.read_text(encoding="utf-8"), blocks))
    return list(blocks)


def exchanges(found: dict[str, Any]) -> str:
    """How many of pyvene's interchange interventions make a difference."""
    changed = sum(row["exchanges that change an output"] for row in found["rows"])
    tried = found["inputs"] * len(found["rows"])
    return f"Of pyvene's exchanges {changed:,} of {tried:,} change an output."


def equal_outputs(found: dict[str, Any]) -> str:
    """Versions, and for how many inputs of each program a tool's outputs are equal."""
    versions = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    table = pd.DataFrame(found["rows"])[[*SIZES, *found["tools"]]]
    return f"{versions}; {found['machine']['cpu']}, one thread.\n\n{markdown(table)}"
