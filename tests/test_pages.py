"""Every code block of README and docs: run where that takes seconds, else compiled or parsed."""

import pytest

from code_blocks import blocks, pages, run

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
