"""The view of runs in a browser: sweeps, claims, damage, and a training still running."""

import subprocess
import sys

import pytest

expect = pytest.importorskip("playwright.sync_api", reason="needs playwright").expect
expect.set_options(timeout=300_000)

# Hundreds of epochs of a corpus that takes a moment each; stopped when its curves have grown.
TRAINING = [
    "scaffold",
    "--epochs",
    "20000",
    "--hidden",
    "4",
    "--length",
    "2",
    "--device",
    "cpu",
    "--keep",
    "epoch:5000",
    "--yes",
    "--set",
    "corpus.tokens=2000",
    "corpus.vocabulary=20",
    "corpus.rules=20",
    "corpus.scaffolds=5",
    "corpus.copies=10",
    "corpus.tests=10",
]


def opened(visit, address, state="view=runs"):
    visit.goto("about:blank")
    visit.goto(f"{address}#{state}")
    expect(visit.locator(".runs tbody tr").first).to_be_visible()
    return visit


def test_curves_grow_while_training_runs(visit, address, runs_folder):
    out = ["--out", str(runs_folder / "live")]
    command = [sys.executable, "-m", "espalier", "train", *TRAINING[:1], *out, *TRAINING[1:]]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as training:
        try:
            opened(visit, address)
            visit.get_by_role("button", name="live").click(timeout=300_000)
            line = visit.locator(".chart", has_text="train_loss").locator(".line").first
            expect(line).to_be_attached(timeout=300_000)
            for _ in range(2):
                before = line.get_attribute("d")
                expect(line).not_to_have_attribute("d", before, timeout=300_000)
            row = visit.locator(".runs tbody tr", has_text="live")
            expect(row.locator(".state")).to_have_text("running")
            expect(row).to_contain_text("of 20000")
        finally:
            training.kill()
    visit.check(address)


def test_a_sweep_is_small_multiples_that_say_what_differs(visit, address):
    opened(visit, address)
    visit.get_by_label("Find runs").fill("sweep/")
    expect(visit.locator(".runs tbody tr")).to_have_count(3)
    every = visit.get_by_label("Show every run that is listed")
    every.focus()
    visit.keyboard.press("Space")
    expect(visit.locator(".multiples.sweep article")).to_have_count(3)
    expect(every).to_be_focused()  # though the table was drawn again
    own = visit.locator(".multiples .own").all_inner_texts()
    assert own == [f"network.architecture = {kind}" for kind in ("gru", "lstm", "transformer")]
    scales = [
        chart.locator("text.end").all_inner_texts() for chart in visit.locator(".chart").all()
    ]
    assert scales[0] == scales[1] == scales[2]  # common axes
    every.uncheck()
    expect(visit.locator(".multiples article")).to_have_count(0)
    visit.check(address)


def test_claims_have_verdicts_and_damage_has_a_reason(visit, address):
    opened(visit, address, "view=runs&runs=claims|damaged")
    verdicts = visit.locator(".verdict")
    expect(verdicts).to_have_text(["holds", "does not hold"])
    expect(visit.locator(".multiples article").first).to_contain_text("0.5 [0.4, 0.6]")
    expect(visit.locator(".multiples article").nth(1)).to_contain_text("is not JSON")
    expect(visit.locator(".state.damaged").first).to_contain_text("damaged")
    visit.check(address)
