"""The views of networks and of runs in a browser: every control used."""

import random

import pytest

from explorer.test_answers import typed

expect = pytest.importorskip("playwright.sync_api", reason="needs playwright").expect
expect.set_options(timeout=300_000)


def opened(visit, address, state):
    visit.goto("about:blank")
    visit.goto(f"{address}#{state}")
    return visit


def test_a_sentence_is_looked_at_from_every_side(visit, address):
    opened(visit, address, "view=networks&sentence=the+city+of+London+is+xyzzy")
    expect(visit.locator(".arcs .unknown")).to_have_text("xyzzy")
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
    for label, option in (("Space", "logits"), ("Method", "murdoch"), ("Layer", "1")):
        visit.get_by_label(label, exact=True).select_option(option)
        expect(visit.locator(".networks .note")).not_to_contain_text("reading")
    assert visit.locator("#cell-0-1").inner_text() != before or "logits" in visit.url
    assert "pair=0%2C1" in visit.url
    visit.check(address)


def test_two_sentences_side_by_side_and_the_checkpoints_of_a_run(visit, address):
    opened(visit, address, "view=networks&model=run+k4&sentence=1+2+3+4")
    expect(visit.locator(".arcs .word")).to_have_count(4)
    value = visit.locator("#cell-0-1").inner_text()
    slider = visit.get_by_label("Checkpoint")
    slider.fill("0")
    slider.dispatch_event("change")
    expect(visit.locator(".checkpoints output")).to_have_text("epoch-1")
    expect(visit.locator("#cell-0-1")).not_to_have_text(value)
    assert "checkpoint=epoch-1" in visit.url
    visit.get_by_role("button", name="Side by side").click()
    box = visit.get_by_label("Sentence", exact=True).nth(1)
    source = random.Random(1)
    for text in [*(typed(source) for _ in range(5)), "3 4 5"]:
        box.fill(text)
        box.press("Enter")
        expect(visit.locator(".networks .note").nth(1)).not_to_contain_text("reading")
    expect(visit.locator(".panel").nth(1).locator(".arcs .word")).to_have_count(3)
    visit.set_viewport_size({"width": 400, "height": 800})
    assert visit.evaluate("document.documentElement.scrollWidth") <= 400
    visit.check(address)


def test_runs_are_found_chosen_and_drawn(visit, address):
    opened(visit, address, "view=runs")
    expect(visit.locator(".runs tbody tr")).to_have_count(2)
    visit.get_by_label("Find runs").fill("running")
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
