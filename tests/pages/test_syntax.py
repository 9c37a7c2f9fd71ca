"""The results page is what the committed rows say."""

import shutil
from pathlib import Path

import pandas as pd
from docs.pages.filling import DOCS
from docs.pages.syntax import syntax


def test_the_page_is_filled_from_the_committed_rows(tmp_path):
    shutil.copytree(DOCS / "results/data/syntax", tmp_path / "results/data/syntax")
    committed = (DOCS / "results/syntax.md").read_text()
    page = Path(tmp_path / "results/syntax.md")
    page.write_text(committed)
    blocks = syntax(tmp_path)
    assert page.read_text() == committed
    assert all(f"<!-- begin {name} -->" in committed for name in blocks)
    drawn = {file.name for file in (tmp_path / "images/syntax").iterdir()}
    assert {file.name for file in (DOCS / "images/syntax").iterdir()} == drawn
    rows = pd.read_parquet(tmp_path / "results/data/syntax/syntax.parquet")
    last = rows[(rows["checkpoint"] == "epoch-25") & (rows["space"] == "hidden")]
    effect = last[(last["distance"] == 0) & (last["name"] == "tree distance")]
    estimate = effect[effect["outcome"] == "log DI"]["estimate"].item()
    assert f"{estimate:.4f} [" in committed
