"""The page beside the peers says what the benchmark's rows say."""

import shutil
from fractions import Fraction
from pathlib import Path

import pytest
from docs.pages.filling import DOCS
from docs.pages.peers import cell, peers, ratios, read


def test_the_page_is_filled_from_the_rows(tmp_path) -> None:
    docs, results = tmp_path / "docs" / "results", tmp_path / "benchmarks" / "results"
    for folder in (docs, results):
        folder.mkdir(parents=True)
    for name in ("peer-tracr.json", "peer-alta.json"):
        shutil.copy(DOCS.parent / "benchmarks" / "results" / name, results)
    page = Path(shutil.copy(DOCS / "results" / "peers.md", docs))
    tracr = ["tracr", "tracr-steeper", "tracr-parameters"]
    assert peers(tmp_path / "docs") == [*tracr, "alta", "alta-ratios"]
    assert page.read_text() == (DOCS / "results" / "peers.md").read_text()


def test_what_the_page_says_of_right_answers() -> None:
    rows = read(DOCS.parent / "benchmarks" / "results" / "peer-tracr.json")
    right = rows["Tracr right"].map(Fraction)
    short, usual = rows["longest"] == 8, rows["exactness Tracr"] == 100
    assert (rows["here right"].map(Fraction) == 1).all()
    assert (right[short] == 1).all()
    wrong = set(rows[~short & usual & (right <= 0.5)]["program"])
    assert wrong == {"hist", "reverse", "sort_freq"}


def test_ratios_are_those_of_two_columns() -> None:
    rows = read(DOCS.parent / "benchmarks" / "results" / "peer-alta.json")
    pairs = [(r["run ms theirs"], r["run ms here"]) for _, r in rows.iterrows()]
    times = [theirs / here for theirs, here in pairs if here != "-"]
    said = f"take {float(f'{min(times):.2g}'):g} to {float(f'{max(times):.2g}'):g} times as long"
    assert said in ratios(rows)


@pytest.mark.parametrize(
    ("value", "text"),
    [(38143950, "38,143,950"), (0.0334, "0.033"), (11.097, "11.1"), (1251.3, "1,251"), ("8", "8")],
)
def test_cells_have_three_figures_at_most(value: object, text: str) -> None:
    assert cell(value) == text
