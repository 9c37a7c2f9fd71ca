"""How the page looks: text that can be read in both modes, nothing cut off, and keys seen."""

import pytest

expect = pytest.importorskip("playwright.sync_api", reason="needs playwright").expect
expect.set_options(timeout=300_000)

VIEWS = {
    "symbols": ("view=programs&program=addition&input=34%2B56&step=4&cell=5,5", ".why li"),
    "residual": ("view=programs&program=histogram&input=hello&step=2&mode=residual", ".g-cell"),
    "rules": ("view=programs&program=addition&input=34%2B56&mode=rules", ".rules .fired"),
    "networks": ("view=networks&sentence=the+city+of+xyzzy&pair=1,2", ".apart table"),
    "runs": ("view=runs&runs=k4|sweep/k8|claims|damaged", ".verdict"),
}
# Texts whose contrast with what is behind them is under WCAG's AA: 4.5, or 3 where large.
FAINT = """() => {
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const read = (colour) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data].map((x) => x / 255);
  };
  const over = (top, below) => [0, 1, 2].map((n) => top[n] * top[3] + below[n] * (1 - top[3]));
  const light = (rgb) => rgb.map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4))
    .reduce((sum, x, n) => sum + x * [0.2126, 0.7152, 0.0722][n], 0);
  const behind = (element) => element === null ? [1, 1, 1]
    : over(read(getComputedStyle(element).backgroundColor), behind(element.parentElement));
  const found = [];
  for (const element of document.querySelectorAll(".espalier-explorer *")) {
    const text = [...element.childNodes].filter((one) => one.nodeType === 3).map((one) => one.data).join("").trim();
    const box = element.getBoundingClientRect();
    if (!text || !box.width || element.closest("option, title, :disabled")) continue;
    const style = getComputedStyle(element);
    const back = behind(element.closest("svg")?.parentElement ?? element);
    const ink = over(read(element.closest("svg") ? style.fill : style.color), back);
    const [high, low] = [light(ink), light(back)].sort((a, b) => b - a);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const contrast = (high + 0.05) / (low + 0.05);
    if (contrast < (large ? 3 : 4.5)) found.push(`${element.className.baseVal ?? element.className} ${text.slice(0, 30)}: ${contrast.toFixed(2)}`);
  }
  return found;
}"""  # noqa: E501


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_text_can_be_read_and_nothing_is_cut_off(visit, address, view, scheme):
    state, ready = VIEWS[view]
    visit.emulate_media(color_scheme=scheme)
    visit.goto(f"{address}#{state}")
    expect(visit.locator(ready).first).to_be_attached()
    assert visit.evaluate(FAINT) == []
    for width in (400, 1000, 1600):
        visit.set_viewport_size({"width": width, "height": 900})
        assert visit.evaluate("document.documentElement.scrollWidth") <= width
    visit.emulate_media(media="print", color_scheme=scheme)
    expect(visit.get_by_role("navigation", name="Views")).to_be_hidden()
    expect(visit.locator("main")).to_be_visible()
    visit.check(address)


RING = """() => {
  const at = document.activeElement;
  const { outlineStyle, outlineWidth } = getComputedStyle(at);
  const name = at.getAttribute("aria-label") ?? at.textContent;
  return [name, outlineStyle !== "none" && parseFloat(outlineWidth) >= 2];
}"""


@pytest.mark.parametrize(
    ("view", "order"),
    [
        ("symbols", ["Programs", "CSV", "Program", "Input", "Run", "Symbols", "Rules", "Step"]),
        ("networks", ["Networks", "Side by side", "Sentence", "Model", "Layer", "Show"]),
        ("runs", ["Runs", "HTML", "Find runs", "Runs", "Show k4", "sweep/k8"]),
    ],
)
def test_every_control_is_reached_by_the_tab_key_and_seen(visit, address, view, order):
    state, ready = VIEWS[view]
    visit.goto(f"{address}#{state}")
    expect(visit.locator(ready).first).to_be_attached()
    names = []
    for _ in range(45):
        visit.keyboard.press("Tab")
        name, is_seen = visit.evaluate(RING)
        if name in names[:1] or visit.evaluate("document.activeElement === document.body"):
            break
        assert is_seen, name
        names.append(name)
    places = iter(names)
    assert all(one in places for one in order), names  # in this order
    visit.check(address)
