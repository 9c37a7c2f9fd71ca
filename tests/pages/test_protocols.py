"""The section on the authors' protocol is filled from the rows that are committed."""

import itertools
import shutil

import pandas as pd
import pytest
from docs.pages.filling import DOCS
from docs.pages.protocols import NAMES, along, protocols

DATA = DOCS / "results/data/composition"


@pytest.mark.usefixtures("unpainted")
def test_the_section_is_what_its_rows_say(tmp_path):
    place = tmp_path / "results/data/composition"
    place.mkdir(parents=True)
    for name in (*NAMES.values(), f"{NAMES[12]}-small"):
        shutil.copy(DATA / f"{name}.parquet", place)
    page = tmp_path / "results/composition.md"
    shutil.copy(DOCS / "results/composition.md", page)
    filled = protocols(tmp_path)
    further = ["protocols-focus", "protocols-along", "protocols-own-step"]
    assert filled == ["protocols", *NAMES.values(), *further]
    assert page.read_text() == (DOCS / "results/composition.md").read_text()
    for name in NAMES.values():
        assert (tmp_path / f"images/composition/{name}.png").exists()


def test_gradients_along_the_scaffold_are_told_part_by_part():
    """Of a familiar model that has 2, 0.5, 0.25 ... and 8 times the gradients of the other."""
    ratios = {0: 2.0, 1: 0.5, 2: 0.25, 3: 0.25, 4: 8.0}
    grid = itertools.product(
        ("before close", "own step"), ("familiar", "unfamiliar"), (0, 1),
        ("embedding", "hidden", "output"), ratios,
    )  # fmt: skip
    rows = [
        {"layout": "apart", "reading": reading, "setting": setting, "seed": seed, "kind": kind}
        | {"place": place, "length": 4, "epoch": 5}
        | {"l2": ratios[place] if (reading, setting) == ("own step", "familiar") else 1.0}
        for reading, setting, seed, kind, place in grid
    ]
    table = along(pd.DataFrame(rows))
    assert table["kind"].tolist() == [
        kind for kind in ("embedding", "hidden", "output") for _ in "1234"
    ]
    assert table["k = 4"].tolist() == 3 * [
        "2 [2, 2]",
        "0.5 [0.5, 0.5]",
        "0.25 [0.25, 0.25]",
        "8 [8, 8]",
    ]
