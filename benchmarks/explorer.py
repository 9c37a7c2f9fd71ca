"""The explorer on the clock: from the command to the first view, and frames while scrubbing.

    python -m benchmarks.explorer [--times 3]

Needs playwright and Chromium. A browser that runs already opens the page; each time is the best of
several, and each time another server is started. `view` counts from the command on, `again` from
the opening of another page of the same server, until the view is drawn; `weights` until the
compiled model has answered too. Then the slider goes to every step: `frame` is what drawing one
takes, `nodes` how many elements the page holds at most.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.harness import report

# A loop of five instructions that counts down from 28: 411 layers.
COUNTDOWN = "18 19 15 20 20 6 20 20 9 20 20 12 20 20 0 20 20 -1 1 28 0"
SENTENCE = (
    "the city of London is the capital of England and the largest city in the United Kingdom of "
    "Great Britain now"
)
DRAWN = {"programs": ".grid .g-cell", "networks": ".arcs .word", "runs": ".runs tbody tr"}
TARGETS: dict[str, dict[str, str]] = {
    "addition": {"program": "addition", "input": "34+56"},
    "SCAN, 87 layers": {
        "program": "scan",
        "input": "jump around left thrice and walk around right thrice",
    },
    "SUBLEQ, 411 layers": {"program": "subleq", "input": COUNTDOWN},
    "sentence, 20 words": {"view": "networks", "sentence": SENTENCE},
}
SCRUB = """async () => {
  const slider = document.querySelector('input[aria-label="Step"]');
  if (!slider) return { steps: 0, times: [0], nodes: document.querySelectorAll("*").length };
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const times = [];
  let nodes = 0;
  for (let step = 0; step <= Number(slider.max); step++) {
    const began = performance.now();
    slider.value = step;
    slider.dispatchEvent(new Event("input"));
    document.body.getBoundingClientRect(); // styles and layout
    times.push(performance.now() - began);
    await frame();
    nodes = Math.max(nodes, document.querySelectorAll("*").length);
  }
  times.sort((a, b) => a - b);
  return { steps: times.length, times, nodes };
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=3)
    times = parser.parse_args().times
    with sync_playwright() as running:
        browser = running.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        report("explorer", [_measure(browser, name, times) for name in TARGETS])
        browser.close()


def _measure(browser: Browser, name: str, times: int) -> dict[str, Any]:
    """The best time of each kind."""
    runs = [_visit(browser, TARGETS[name], last=turn == times - 1) for turn in range(times)]
    kinds = ("address", "page", "view", "again", "weights")
    best = {f"{kind} s": min(run[kind] for run in runs) for kind in kinds}
    scrubbed = runs[-1]["scrubbed"]
    drawn = scrubbed["times"]
    return {
        "view of": name,
        **best,
        "steps": scrubbed["steps"],
        "frame ms": drawn[len(drawn) // 2],
        "slowest 1 % ms": drawn[len(drawn) * 99 // 100],
        "nodes": scrubbed["nodes"],
    }


def _visit(browser: Browser, state: dict[str, str], *, last: bool) -> dict[str, Any]:
    """One server from its start to its end."""
    view = state.get("view", "programs")
    target = state.get("program") or state["sentence"]
    page = browser.new_context(viewport={"width": 1300, "height": 900}).new_page()
    page.set_default_timeout(120_000)
    began = time.perf_counter()
    command = [sys.executable, "-m", "espalier", "explore", target, "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip().split("#")[0]
        found: dict[str, Any] = {"address": time.perf_counter() - began}
        page.request.get(address)
        found["page"] = time.perf_counter() - began
        place = f"{address}#{urlencode({'view': view, **state})}"
        found["view"] = _opened(page, place, view) - began
        if view == "programs":
            page.get_by_text("MLP unit").wait_for()
        found["weights"] = time.perf_counter() - began
        began = time.perf_counter()
        page.goto("about:blank")
        found["again"] = _opened(page, place, view) - began
        found["scrubbed"] = page.evaluate(SCRUB) if last else None
        page.context.close()
        process.terminate()
    return found


def _opened(page: Page, address: str, view: str) -> float:
    page.goto(address, wait_until="commit")
    page.locator(DRAWN[view]).first.wait_for()
    return time.perf_counter()


if __name__ == "__main__":
    main()
