"""The view of programs in a browser: every control used, as a reader would."""

import pytest

expect = pytest.importorskip("playwright.sync_api", reason="needs playwright").expect
expect.set_options(timeout=300_000)


# Goes to every step by the slider, and returns the most elements that the page held.
SCRUB = """() => {
  const slider = document.querySelector('input[aria-label="Step"]');
  let most = 0;
  for (let step = 0; step <= Number(slider.max); step++) {
    slider.value = step;
    slider.dispatchEvent(new Event("input"));
    most = Math.max(most, document.querySelectorAll("*").length);
  }
  return most;
}"""


def opened(visit, address, state=""):
    visit.goto("about:blank")  # another # alone would not load the page again
    visit.goto(address + (f"#{state}" if state else ""))
    expect(visit.locator(".machine b").first).not_to_be_empty()
    expect(visit.locator(".answer")).to_contain_text("MLP unit", timeout=300_000)
    return visit


def cell(visit, variable, position):
    names = visit.locator(".g-row .g-name").all_inner_texts()
    return visit.locator(f"#cell-{names.index(variable)}-{position}")


def test_a_reader_steps_asks_sets_and_switches(visit, address):
    opened(visit, address, "view=programs&program=addition&input=34%2B56")
    expect(visit.locator(".answer")).to_contain_text("90")
    now = visit.locator(".player .now")
    for name in ("One step on (→)", "Last step (End)", "One step back (←)", "First step (Home)"):
        visit.get_by_label(name).click()
    expect(now).to_contain_text("step 1 of 9")
    visit.keyboard.press("ArrowRight")
    expect(now).to_contain_text("step 2 of 9")
    visit.get_by_label("Step", exact=True).fill("4")
    expect(now).to_contain_text("step 5 of 9")
    visit.locator(".strip").click(position={"x": 2, "y": 10})
    expect(now).to_contain_text("step 1 of 9")
    play = visit.get_by_label("Play or pause (space)")
    play.click()
    expect(now).to_contain_text("step 3 of 9")
    play.click()
    visit.get_by_label("Step", exact=True).fill("4")

    out = cell(visit, "out", 5)
    expect(out).to_have_text("0")
    out.click()
    expect(visit.locator(".told")).to_contain_text("out: PAD -> 0 if turn = NOW, sum = 10/3")
    expect(visit.locator(".why")).to_contain_text("digit = 6 from the token 6")
    assert visit.locator(".grid .arrow").count() >= 2
    assert visit.locator(".espalier-history .box").count() > 10
    assert "cell=" in visit.url
    expect(cell(visit, "wave", 5)).to_have_attribute("title", "code 2")

    visit.locator(".setter select").select_option(label="7")
    visit.get_by_role("button", name="Set", exact=True).click()
    expect(visit.locator(".answer")).to_contain_text("97")
    expect(visit.locator(".answer")).to_contain_text("every value agrees")
    assert visit.locator(".machine b").all_inner_texts() == ["90", "97", "97"]
    shared = visit.url
    visit.locator(".chip").click()
    expect(visit.locator(".machine b").first).to_have_text("90")
    opened(visit, address, shared.split("#")[1])
    expect(visit.locator(".answer")).to_contain_text("97")
    visit.check(address)


def test_the_views_of_the_weights(visit, address):
    opened(visit, address, "view=programs&program=histogram&input=hello&step=2")
    assert visit.locator(".machine b").all_inner_texts() == ["1 1 2 2 1"] * 2
    for mode, words in {
        "Weights": "Decoded from the residual stream",
        "Residual stream": "dimensions are not 0",
        "Attention": "select the same",
        "Rules": "",
    }.items():
        visit.get_by_role("button", name=mode, exact=True).click()
        expect(visit.locator(".legend")).to_contain_text(words)
    visit.get_by_label("Search the rules").fill("count -> 2")
    expect(visit.locator(".rules .fired")).to_have_count(1)
    expect(visit.locator(".rules .fired")).to_contain_text("count: · -> 2")
    visit.get_by_role("button", name="Attention", exact=True).click()
    visit.locator(".heads select").select_option(index=0)
    expect(visit.locator(".g-corner")).to_have_text("query \\ key")
    visit.check(address)


def test_only_what_is_seen_of_a_long_trace_is_drawn(visit, address):
    loop = "9+10+6+11+11+0+11+11+-1+1+31+0"
    opened(visit, address, f"view=programs&program=subleq&input={loop}")
    expect(visit.locator(".now")).to_contain_text(" of 37")  # 187 layers
    assert visit.locator(".g-cell").count() < 800
    assert visit.evaluate(SCRUB) < 1500  # at every step
    visit.set_viewport_size({"width": 400, "height": 800})
    visit.get_by_label("Last step (End)").click()
    assert visit.locator(".g-cell").count() < 500
    wide = visit.evaluate("document.documentElement.scrollWidth")
    assert wide <= 400
    visit.check(address)


def test_keys_alone_are_enough(visit, address):
    opened(visit, address, "view=programs&program=parity-sequential-relative&input=101")
    visit.locator(".grid").focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", ".", ".", "Enter"):
        visit.keyboard.press(key)
    expect(visit.locator(".now")).to_contain_text("step 3")
    expect(visit.locator(".why li").first).to_be_visible()
    visit.keyboard.press("Escape")
    expect(visit.locator(".why li")).to_have_count(0)
    visit.check(address)


def test_a_wrong_token_shows_nothing(visit, address):
    response = visit.goto(address.rsplit("/", 2)[0] + "/wrong/")
    assert response.status == 403
    assert visit.locator("script").count() == 0
