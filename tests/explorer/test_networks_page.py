"""The views of networks and of runs in a browser: every control used."""

import re

import pytest

from explorer.run_folders import ARCHITECTURES

expect = pytest.importorskip("playwright.sync_api", reason="needs playwright").expect
expect.set_options(timeout=300_000)


def opened(visit, address, state):
    visit.goto("about:blank")
    visit.goto(f"{address}#{state}")
    return visit


def test_a_sentence_is_looked_at_from_every_side(visit, address):
    opened(visit, address, "view=networks&sentence=the+city+of+London+is+xyzzy")
    expect(visit.locator(".arcs .unknown")).to_have_text("xyzzy", timeout=300_000)
    expect(visit.locator(".arcs .pair")).to_have_count(5)
    visit.get_by_label("Strongest pairs", exact=True).fill("15")
    expect(visit.locator(".arcs .pair")).to_have_count(15)
    visit.locator(".arcs .word", has_text="city").click()
    visit.locator(".arcs .word", has_text="London").press("Enter")
    expect(visit.locator(".apart h2")).to_contain_text("London: 0.209")
    expect(visit.locator(".apart tbody tr")).to_have_count(4)
    visit.locator("#cell-0-1").click()
    expect(visit.locator(".apart h2")).to_contain_text("0.553")
    before = visit.locator("#cell-0-1").inner_text()
    for label, option in (("Layer", "1"), ("Method", "murdoch"), ("Space", "logits")):
        visit.get_by_label(label, exact=True).select_option(option)
        expect(visit.locator(".networks .note")).not_to_contain_text("reading")
    expect(visit.get_by_label("Layer", exact=True)).to_be_disabled()  # logits are of the last
    expect(visit.locator("#cell-0-1")).not_to_have_text(before)
    assert "pair=0%2C1" in visit.url
    visit.check(address)


@pytest.mark.parametrize("run", ARCHITECTURES)
def test_the_checkpoints_and_layers_of_a_run(visit, address, run):
    opened(visit, address, f"view=networks&model=run+{run}&sentence=1+2+3+4")
    expect(visit.locator(".arcs .word")).to_have_count(4)
    value = visit.locator("#cell-0-1").inner_text()
    slider = visit.get_by_label("Checkpoint")
    slider.focus()
    for _ in range(2):
        slider.press("ArrowLeft")
    expect(visit.locator(".checkpoints output")).to_have_text("epoch-1")
    expect(visit.locator("#cell-0-1")).not_to_have_text(value)
    expect(visit.page).to_have_url(re.compile("checkpoint=epoch-1"))
    layer = visit.get_by_label("Layer", exact=True)
    assert layer.locator("option").all_inner_texts() == ["last", "0, what enters", "1", "2"]
    layer.select_option("1")
    expect(visit.locator(".networks .note")).not_to_contain_text("reading")
    visit.locator("#cell-1-2").click()
    expect(visit.locator(".apart tbody tr")).to_have_count(4)
    expect(visit.locator(".apart")).to_contain_text("only the last layer predicts")
    layer.select_option("-1")
    expect(visit.locator(".apart tbody tr").first).not_to_contain_text("only the last")
    visit.check(address)


def test_two_sentences_side_by_side(visit, address):
    opened(visit, address, "view=networks&model=run+k4&sentence=1+2+3+4")
    expect(visit.locator(".arcs .word")).to_have_count(4)
    visit.get_by_role("button", name="Side by side").click()
    box = visit.get_by_label("Sentence", exact=True).nth(1)
    box.fill("3 4 5")
    box.press("Enter")
    expect(visit.locator(".panel").nth(1).locator(".arcs .word")).to_have_count(3)
    visit.get_by_label("Model", exact=True).nth(1).select_option("run sweep/gru")
    expect(visit.locator(".panel").nth(1).locator(".checkpoints output")).to_have_text("epoch-5")
    visit.set_viewport_size({"width": 400, "height": 800})
    assert visit.evaluate("document.documentElement.scrollWidth") <= 400
    visit.get_by_role("button", name="Side by side").click()
    expect(visit.locator(".panel")).to_have_count(1)
    visit.check(address)


def test_runs_are_found_chosen_and_drawn(visit, address):
    opened(visit, address, "view=runs")
    expect(visit.locator(".runs tbody tr").first).to_be_visible()
    visit.get_by_label("Find runs").fill("k8 running")
    expect(visit.locator(".runs tbody tr")).to_have_count(1)
    visit.get_by_label("Find runs").fill("")
    visit.get_by_label("Show k4").check()
    visit.get_by_role("button", name="sweep/k8").click()
    visit.get_by_label("Show k4").check()
    expect(visit.locator(".chart")).to_have_count(2)
    assert visit.locator(".chart .line.member").count() == 6
    visit.locator(".runs summary").first.click()
    expect(visit.locator(".runs dl").first).to_contain_text("rate")
    with visit.expect_download() as table:
        visit.get_by_role("button", name="CSV").click()
    assert "k4,scaffold,finished" in table.value.path().read_text()
    with visit.expect_download() as drawing:
        visit.get_by_role("button", name="SVG").click()
    assert drawing.value.path().read_text().startswith("<svg")
    visit.check(address)
