"""The results page is what the committed rows say."""

import shutil
from pathlib import Path

import pandas as pd
import pytest
from docs.pages.filling import DOCS
from docs.pages.syntax import syntax
from scipy import stats


@pytest.mark.usefixtures("unpainted")
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
    rows = pd.read_parquet(tmp_path / "results/data/syntax/trainings.parquet")
    last = rows[(rows["epoch"] == 25) & (rows["space"] == "hidden")]
    effect = last[(last["distance"] == 0) & (last["name"] == "tree distance")]
    estimates = effect[effect["outcome"] == "log DI"]["estimate"]
    assert len(estimates) == 5
    low, high = stats.t.interval(0.95, 4, estimates.mean(), stats.sem(estimates))
    assert f"{estimates.mean():.4f} [{low:.4f}, {high:.4f}]" in committed
