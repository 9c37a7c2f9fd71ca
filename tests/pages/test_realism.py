"""The page of what each dial bears says what the benchmark's rows say."""

import shutil
from pathlib import Path

from docs.pages.filling import DOCS
from docs.pages.realism import realism


def test_the_page_is_filled_from_the_rows(tmp_path) -> None:
    docs, results = tmp_path / "docs" / "results", tmp_path / "benchmarks" / "results"
    for folder in (docs, results):
        folder.mkdir(parents=True)
    shutil.copy(DOCS.parent / "benchmarks" / "results" / "realism.json", results)
    page = Path(shutil.copy(DOCS / "results" / "realism.md", docs))
    assert realism(tmp_path / "docs") == ["machine", "ranges", "gradients", "culprits"]
    assert page.read_text() == (DOCS / "results" / "realism.md").read_text()
