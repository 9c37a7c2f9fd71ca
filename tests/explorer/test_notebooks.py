"""The widget in real notebooks: a cell is run in Jupyter and in marimo, and a reader steps on.

Slow, and skipped where the notebooks are absent: pip install notebook marimo anywidget.
"""

import json
import os
import socket
import subprocess
import sys
import time

import pytest

pytest.importorskip("anywidget", reason="needs espalier[notebook]")
expect = pytest.importorskip("playwright.sync_api", reason="needs playwright").expect
pytestmark = pytest.mark.slow

CODE = """from espalier.explorer import widget
shown = widget(view="programs", program="addition", input="34+56")
"""
MARIMO = """import marimo
app = marimo.App()

@app.cell
def _():
    import marimo as mo
    from espalier.explorer import widget
    mo.ui.anywidget(widget(view="programs", program="addition", input="34+56"))
    return

if __name__ == "__main__":
    app.run()
"""


def served(command, folder, path):
    """A server of notebooks that answers, and its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", *command, f"--port={port}"]
    with (folder / "said.txt").open("w") as said:
        process = subprocess.Popen(command, cwd=folder, stdout=said, stderr=subprocess.STDOUT)
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except ConnectionRefusedError:
            assert process.poll() is None, (folder / "said.txt").read_text()
            time.sleep(0.2)
    address = f"http://127.0.0.1:{port}{path}"
    return process, address


def steps_on(page, name):
    """A reader asks why, sets a value, and looks at the weights, in the kernel."""
    shown = page.locator(".espalier-explorer")
    expect(shown.locator(".machine b").first).to_have_text("90", timeout=300_000)
    expect(shown.locator(".answer")).to_contain_text("every value agrees", timeout=300_000)
    shown.get_by_label("Last step (End)").click()
    shown.locator("#cell-5-5").click()
    expect(shown.locator(".told")).to_contain_text("out = 0", timeout=300_000)
    expect(shown.locator(".why li").first).to_be_visible(timeout=300_000)
    shown.get_by_role("button", name="Networks").click()
    expect(shown.locator(".arcs .word")).to_have_count(9, timeout=300_000)
    if os.environ.get("ESPALIER_SCREENSHOTS"):
        page.screenshot(path=f"{os.environ['ESPALIER_SCREENSHOTS']}/{name}.png")


def test_in_jupyter(browser, tmp_path):
    pytest.importorskip("notebook", reason="needs Jupyter Notebook")
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "outputs": [], "execution_count": None}
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    whole = {"cells": [{**cell, "source": CODE + "shown"}], "metadata": {"kernelspec": kernel}}
    written = json.dumps({**whole, "nbformat": 4, "nbformat_minor": 5})
    (tmp_path / "explorer.ipynb").write_text(written)
    options = ["--no-browser", "--allow-root", "--IdentityProvider.token=t", "--ip=127.0.0.1"]
    process, address = served(["notebook", *options], tmp_path, "/notebooks/explorer.ipynb?token=t")
    try:
        page = browser.new_page(viewport={"width": 1200, "height": 1100})
        page.goto(address)
        page.locator(".jp-CodeCell .cm-content").first.click(timeout=300_000)
        page.keyboard.press("Shift+Enter")
        steps_on(page, "jupyter")
        page.close()
    finally:
        process.terminate()
        process.wait()


def test_in_marimo(browser, tmp_path):
    pytest.importorskip("marimo", reason="needs marimo")
    (tmp_path / "explorer.py").write_text(MARIMO)
    options = ["run", "explorer.py", "--headless", "--no-token", "--host=127.0.0.1"]
    process, address = served(["marimo", *options], tmp_path, "/")
    try:
        page = browser.new_page(viewport={"width": 1200, "height": 1100})
        page.goto(address)
        steps_on(page, "marimo")
        page.close()
    finally:
        process.terminate()
        process.wait()
