"""The section on the authors' protocol is filled from the rows that are committed."""

import shutil

from docs.pages.filling import DOCS
from docs.pages.protocols import NAMES, protocols

DATA = DOCS / "results/data/composition"


def test_the_section_is_what_its_rows_say(tmp_path):
    place = tmp_path / "results/data/composition"
    place.mkdir(parents=True)
    for name in (*NAMES.values(), f"{NAMES[12]}-small"):
        shutil.copy(DATA / f"{name}.parquet", place)
    page = tmp_path / "results/composition.md"
    shutil.copy(DOCS / "results/composition.md", page)
    filled = protocols(tmp_path)
    assert filled == ["protocols", *NAMES.values(), "protocols-focus", "protocols-own-step"]
    assert page.read_text() == (DOCS / "results/composition.md").read_text()
    for name in NAMES.values():
        assert (tmp_path / f"images/composition/{name}.png").stat().st_size > 1000
