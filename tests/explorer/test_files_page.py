"""Every view becomes HTML, PNG, SVG and CSV; the HTML works where there is no network at all."""

import pytest

expect = pytest.importorskip("playwright.sync_api", reason="needs playwright").expect
expect.set_options(timeout=300_000)

# The state of a view, what shows that it is ready, and what its files hold.
VIEWS = {
    "programs": (
        "view=programs&program=histogram&input=hello&step=2&mode=residual",
        (".legend", "dimensions are not 0"),
        ("layer", "count"),
    ),
    "networks": (
        "view=networks&sentence=the+city+of+London&pair=1,3",
        (".apart h2", "city"),
        ("London", "London"),
    ),
    "runs": (
        "view=runs&runs=k4|sweep/gru|claims",
        (".multiples", "does not hold"),
        ("k4,scaffold", "k4: loss"),
    ),
}


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_becomes_files(visit, address, browser, tmp_path, view):
    state, (ready, words), (in_csv, in_svg) = VIEWS[view]
    visit.goto(f"{address}#{state}")
    expect(visit.locator(ready)).to_contain_text(words)
    if view == "programs":
        expect(visit.locator(".answer")).to_contain_text("every value agrees")
    files = {}
    for name in ("PNG", "SVG", "CSV", "HTML"):
        with visit.expect_download(timeout=300_000) as kept:
            visit.get_by_role("button", name=name, exact=True).click()
        files[name] = tmp_path / f"view.{name.lower()}"
        kept.value.save_as(files[name])
    assert files["PNG"].read_bytes().startswith(b"\x89PNG")
    assert in_csv in files["CSV"].read_text()
    assert "<svg" in files["SVG"].read_text()[:600]
    assert in_svg in files["SVG"].read_text()
    visit.check(address)
    check_offline(browser, files["HTML"], ready, words)


def check_offline(browser, file, ready, words):
    """The file shows the same, in a browser that is cut off, and asks for nothing."""
    context = browser.new_context(offline=True)
    page, asked, faults = context.new_page(), [], []
    page.on("request", lambda one: asked.append(one.url))
    page.on("console", lambda one: one.type == "error" and faults.append(one.text))
    page.on("pageerror", lambda one: faults.append(str(one)))
    page.goto(file.as_uri())
    expect(page.locator(ready)).to_contain_text(words)
    assert page.locator(".exports button").count() == 0
    assert [one for one in asked if not one.startswith(("file:", "data:", "blob:"))] == []
    assert faults == []
    context.close()
