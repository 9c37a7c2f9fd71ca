"""Tutorials as notebooks: every block that the tests run is a cell, and cells run in a kernel.

What the cells print is compared by tests/test_pages.py, which runs the same blocks.
"""

import os
import re
import sys
from pathlib import Path

import pytest
from docs.notebooks import PAGES, as_notebook

from code_blocks import ROOT, blocks

CHEAP = "why-addition-carries"


def cells(page: str) -> list[str]:
    text = as_notebook(page, (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"))
    return re.findall(r"(?ms)^```\{code-cell\} ipython3\n(.*?)^```$", text)


@pytest.mark.parametrize("page", PAGES)
def test_every_block_that_is_run_is_a_cell(page):
    shown = [b for b in blocks(f"docs/{page}.md") if b.language and b.why is None]
    assert [re.sub(r"\A%%.*\n", "", cell) for cell in cells(page)] == [b.code for b in shown]


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] * (page != CHEAP)) for page in PAGES],
)
def test_cells_run_in_a_kernel(page, tmp_path, monkeypatch):
    """One always; `make docs` runs them all."""
    reason = "notebooks need the extra `docs`"
    nbclient = pytest.importorskip("nbclient", reason=reason)
    formats = pytest.importorskip("nbformat.v4", reason=reason)
    pytest.importorskip("ipykernel", reason=reason)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    book = formats.new_notebook(cells=[formats.new_code_cell(cell) for cell in cells(page)])
    nbclient.NotebookClient(book, timeout=600, resources={"metadata": {"path": tmp_path}}).execute()


def test_a_plot_shows_in_a_fresh_notebook(tmp_path):
    reason = "notebooks need the extra `docs`"
    nbclient = pytest.importorskip("nbclient", reason=reason)
    formats = pytest.importorskip("nbformat.v4", reason=reason)
    pytest.importorskip("ipykernel", reason=reason)
    lines = (
        "import espalier as es",
        "lm = es.english_model()",
        "es.interdependence(lm, 'a b').plot()",
    )
    book = formats.new_notebook(cells=[formats.new_code_cell(line) for line in lines])
    nbclient.NotebookClient(book, timeout=600, resources={"metadata": {"path": tmp_path}}).execute()
    assert "image/png" in book.cells[-1].outputs[-1].data
