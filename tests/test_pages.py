"""Every code block of README and docs: run where that takes seconds, else compiled or parsed."""

import re

import pytest
from docs.site_building import linked
from PIL import Image

from code_blocks import ROOT, blocks, pages, run

ELSEWHERE = {  # tests that also look at what comes of it
    "docs/networks.md": "tests/networks/test_page.py",
    "docs/tools.md": "tests/exports/test_tools.py",
    "docs/tutorials/patching-scan.md": "tests/exports/test_tutorial.py",
}
PAGES = [page for page in pages() if page not in ELSEWHERE and blocks(page)]


@pytest.mark.parametrize("page", PAGES)
def test_every_block_does_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks(page):
        run(block, names)


@pytest.mark.parametrize("page", pages())
def test_tests_and_sources_that_a_page_names_are_there(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for path in re.findall(r"`((?:tests|benchmarks|espalier)/[\w/-]+\.\w+)`", text):
        assert any((ROOT / under / path).exists() for under in ("", "src")), path
    for name in re.findall(r"`(test_\w+)` in\s+`(tests/[\w/]+\.py)`", text):
        assert f"def {name[0]}(" in (ROOT / name[1]).read_text(encoding="utf-8"), name


def test_pictures_of_the_site_are_links_to_themselves():
    picture, door = '<img alt="A" src="_images/a.png" />', '<img class="sd-card-img" src="b.png"/>'
    inside = f'<a href="page.html">{picture}</a>'
    assert linked(f"{picture}{door}{inside}") == (
        f'<a href="_images/a.png" title="at its own size">{picture}</a>{door}{inside}'
    )


def test_letters_of_pictures_are_legible_on_a_page_700_pixels_wide():
    """Those of 8 points, the smallest of a figure; what has no size in inches is no figure."""
    for file in sorted((ROOT / "docs/images").rglob("*.png")):
        with Image.open(file) as picture:
            wide, dpi = picture.width, picture.info.get("dpi")
        if dpi:
            letters = 9 if "trace" in file.name else 8  # points
            assert letters / 72 * 700 / (wide / dpi[0]) >= 8, file.name
