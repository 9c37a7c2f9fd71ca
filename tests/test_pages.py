"""Every code block of README and docs: run where that takes seconds, else compiled or parsed."""

import pytest

from code_blocks import blocks, pages, run

READY = ("docs/start/", "docs/tutorials/", "docs/how-to/", "docs/why-")
OWN_TESTS = {"docs/tutorials/patching-scan.md"}  # tests/exports/test_tutorial.py: other packages
PAGES = [page for page in pages() if page.startswith(READY) and blocks(page)]
PAGES = [page for page in PAGES if page not in OWN_TESTS]


@pytest.mark.parametrize("page", PAGES)
def test_every_block_does_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks(page):
        run(block, names)
