"""The page computes the history of a cell in the browser, as `Trace.explain` finds it."""

import json
import random
import shutil
import subprocess

import pytest

import espalier as es
from dice import Chance
from espalier.interpreter.explain.moments import moment_of
from espalier.language import program_spec
from espalier.show.pages import resource
from espalier.show.trace_data import trace_data
from strategies import random_blueprint, random_input

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
QUIET = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
    "--disable-background-networking --disable-component-update --virtual-time-budget=20000"
)
SCRIPT = """
document.body.textContent = JSON.stringify(JSON.parse(document.getElementById("asked").textContent)
  .map(([trace, nodes]) => nodes.map((node) =>
    [...espalierHistory(trace).cells(node).values()].flat())));
"""


def traces(source, count):
    chance = Chance(source)
    for name, text in (("addition", "34+56"), ("dyck", "([])"), ("parity-scratchpad", "101")):
        entry = es.zoo.load(name)
        yield es.interpret(entry.program, entry.encode(text))
    for _ in range(count):
        program = program_spec(**random_blueprint(chance, strict=True))
        yield es.interpret(program, random_input(chance, program), max_layers=4)


def opened(page):
    """The page as a browser leaves it."""
    command = [CHROMIUM, *QUIET.split(), f"--user-data-dir={page.parent}/profile", "--dump-dom"]
    done = subprocess.run(
        [*command, page.as_uri()], capture_output=True, text=True, timeout=600, check=True
    )
    return done.stdout


@pytest.mark.skipif(CHROMIUM is None, reason="needs a browser")
def test_the_page_finds_what_explain_finds(tmp_path):
    source, asked, expected = random.Random(0), [], []
    for trace in traces(source, 40):
        names, nodes, used = list(trace.program.specs), [], []
        for _ in range(4):
            variable = source.choice(list(trace.program.variables))
            why = trace.explain(source.randrange(len(trace.tokens)), variable)
            nodes.append([moment_of(why.target), names.index(variable), why.target.position])
            used.append({(moment_of(n), names.index(n.variable), n.position) for n in why.used})
        asked.append([trace_data(trace), nodes])
        expected.append(used)
    data = json.dumps(asked).replace("<", "\\u003c")
    page = tmp_path / "page.html"
    page.write_text(
        f'<meta charset="utf-8"><body></body><script type="application/json" id="asked">{data}'
        f"</script><script>{resource('history.js')}</script><script>{SCRIPT}</script>"
    )
    found = json.loads(opened(page).split("<body>")[1].split("</body>")[0])
    assert [[{tuple(node) for node in cells} for cells in of] for of in found] == expected


ACTIONS = """
const [why, at] = [document.querySelector(".why"), () => document.querySelector("#slider").value];
const cell = (place) => document.querySelector(`td[data-place="${place}"]`);
const press = (target, key) => target.dispatchEvent(
  new KeyboardEvent("keydown", { key, bubbles: true }));
const boxes = () => [...document.querySelectorAll(".box")];
const marked = () => document.querySelectorAll(".fed, .asked").length;
const state = () => [at(), why.hidden, boxes().length, marked()];
const found = [state()];
document.querySelector("#last").click();
cell("5 4").click();
found.push(state(), location.hash);
press(boxes().at(-1), "Enter");
found.push(state(), document.activeElement.dataset.place);
press(document.activeElement, "Escape");
found.push(why.hidden);
press(cell("5 4"), "Enter");
found.push(why.hidden);
document.body.textContent = JSON.stringify(found);
"""


@pytest.mark.skipif(CHROMIUM is None, reason="needs a browser")
def test_a_click_or_a_key_asks_where_a_value_came_from(tmp_path):
    entry = es.zoo.load("addition")
    trace = es.interpret(entry.program, entry.encode("34+56"))
    page, why = tmp_path / "page.html", trace.explain(4)
    page.write_text(trace.to_html().replace("</body>", f"<script>{ACTIONS}</script></body>"))
    body = opened(page).split("<body>")[1].split("</body>")[0]
    start, asked, link, visited, focused, closed, again = json.loads(body)
    assert start == ["0", True, 0, 0]
    assert asked == ["8", False, len(why.links), 1]
    assert link == "#cell=8,5,4"
    assert visited[:3] == ["0", False, len(why.links)]
    assert visited[3] == len([node for node in why.used if node.layer == 0])
    assert (focused is not None, closed, again) == (True, True, False)
