"""What is said of the small scale is what its committed rows say."""

import shutil
from pathlib import Path

from docs.pages.filling import DOCS
from docs.pages.small_claims import small_claims


def test_the_section_is_filled_from_the_rows(tmp_path) -> None:
    where = Path("results", "data", "composition", "small")
    shutil.copytree(DOCS / where, tmp_path / where)
    page = Path(shutil.copy(DOCS / "experiments.md", tmp_path))
    assert small_claims(tmp_path) == ["small-run", "small-claims"]
    assert page.read_text() == (DOCS / "experiments.md").read_text()
    assert (tmp_path / "images" / "interdependence-small.png").exists()
