"""One server and one browser for all tests of pages; they skip where there is no browser."""

import os
import shutil
import subprocess
import sys

import pytest

from explorer.run_folders import make_runs

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="session")
def runs_folder(tmp_path_factory):
    """The runs that are listed."""
    return make_runs(tmp_path_factory.mktemp("explorer"))


@pytest.fixture(scope="session")
def address(runs_folder):
    """The explorer, started as a user starts it."""
    pytest.importorskip("uvicorn", reason="needs espalier[explore]")
    command = [sys.executable, "-m", "espalier", "explore", str(runs_folder), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process.stdout.readline().strip().split("#")[0]
        process.terminate()


@pytest.fixture(scope="session")
def browser():
    """Chromium of the system."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if CHROMIUM is None:
        pytest.skip("needs a browser: apt-get install chromium")
    with playwright.sync_playwright() as running:
        quiet = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        opened = running.chromium.launch(executable_path=CHROMIUM, args=quiet)
        yield opened
        opened.close()


class Visit:
    """A page that records its errors and its requests."""

    def __init__(self, page):
        self.page, self.faults, self.requests = page, [], []
        page.set_default_timeout(300_000)
        page.on("console", lambda one: one.type in ("error", "warning") and self.faults.append(one))
        page.on("pageerror", lambda one: self.faults.append(one))
        page.on("request", lambda one: self.requests.append(one.url))
        page.on("response", lambda one: one.status >= 400 and self.faults.append(one.url))

    def __getattr__(self, name):
        return getattr(self.page, name)

    def check(self, address):
        """No error in the console, and no request off the page's own address."""
        assert [str(one) for one in self.faults] == []
        own = (address.split("#")[0], "data:", "blob:", "file:")
        assert [one for one in self.requests if not one.startswith(own)] == []


@pytest.fixture
def visit(browser):
    """A fresh page of a fresh reader."""
    os.environ.setdefault("PW_TEST_SCREENSHOT_NO_FONTS_READY", "1")
    context = browser.new_context(viewport={"width": 1300, "height": 900}, accept_downloads=True)
    yield Visit(context.new_page())
    context.close()
