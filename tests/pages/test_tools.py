"""The page of the tools is filled from the benchmark's rows."""

import json
import shutil
from pathlib import Path

from docs.pages.filling import DOCS
from docs.pages.tools import exchanges, tools

ROWS = DOCS.parent / "benchmarks" / "results" / "tools.json"


def test_the_page_is_filled_from_the_rows(tmp_path) -> None:
    docs, results = tmp_path / "docs" / "results", tmp_path / "benchmarks" / "results"
    for folder in (docs, results):
        folder.mkdir(parents=True)
    shutil.copy(ROWS, results)
    page = Path(shutil.copy(DOCS / "results" / "tools.md", docs))
    assert tools(tmp_path / "docs") == ["exchanges", "tools"]
    assert page.read_text() == (DOCS / "results" / "tools.md").read_text()


def test_exchanges_are_added_up_over_programs() -> None:
    found = json.loads(ROWS.read_text())
    changed = sum(row["exchanges that change an output"] for row in found["rows"])
    assert exchanges(found).startswith(f"Of pyvene's exchanges {changed:,} of 1,500 ")
