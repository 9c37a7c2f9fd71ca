"""The page of scaffolds at the paper's scale is what the committed rows say."""

import shutil
from pathlib import Path

from docs.pages.filling import DOCS
from docs.pages.scaffolds import scaffolds
from PIL import Image

from espalier.files import MARK


def test_the_page_is_filled_from_the_committed_rows(tmp_path):
    rows = Path("results/data/scaffold.metrics.parquet")
    (tmp_path / rows).parent.mkdir(parents=True)
    shutil.copy(DOCS / rows, tmp_path / rows)
    committed = (DOCS / "results/scaffolds.md").read_text()
    page = tmp_path / "results/scaffolds.md"
    page.write_text(committed)
    assert scaffolds(tmp_path) == ["learning"]
    assert page.read_text() == committed
    picture = tmp_path / "images/scaffold-learning.png"
    assert 10_000 < picture.stat().st_size < 150_000
    with Image.open(picture) as image:
        assert image.info["Comment"] == MARK  # so that `espalier` knows the file as its own
