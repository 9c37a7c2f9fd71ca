"""One component, three homes: the modules as they lie, as one file, and in a notebook."""

import json

import pytest

from espalier.errors import FileError
from espalier.explorer import Session, answer, save_page, widget
from espalier.explorer.bundle import asset, order, page_of, script, template
from espalier.explorer.notebook import RENDER
from espalier.explorer.saved_page import key_of


def test_every_module_is_in_the_file_once_and_after_what_it_needs():
    names = order()
    assert names[-1] == "app.js"
    assert len(set(names)) == len(names)
    text = script()
    places = [text.index(f"const m_{name[:-3]} = ") for name in names]
    assert places == sorted(places)
    assert "\nimport " not in text
    assert "\nexport " not in text
    assert sum(len(asset(name)) for name in names) < 200_000  # of 600 kB
    with pytest.raises(FileError):
        asset("../server.py")


def test_no_name_ends_the_script():
    page = page_of("x=</script>", {"a {}": {"b": "</script><b>\u2028"}})
    assert page.count("</script>") == 1
    assert "\u2028" not in page
    assert template().count("{}/*recorded*/") == 1
    assert "http" not in template().replace("http-equiv", "")


def test_a_widget_answers_in_the_kernel():
    pytest.importorskip("anywidget", reason="needs espalier[notebook]")
    shown, sent = widget(view="programs", program="addition"), []
    assert shown.state == "view=programs&program=addition"
    assert "export default" in shown._esm
    shown.send = sent.append
    question = {"program": "addition", "input": "34+56"}
    shown._handle_custom_msg({"number": 7, "name": "trace", "question": question}, [])
    assert sent[0]["number"] == 7
    assert sent[0]["answer"]["answer"] == "90"


def test_a_question_has_the_name_that_the_page_gives_it():
    assert key_of("trace", {"b": 1, "a": "é"}) == 'trace {"a":"é","b":1}'


@pytest.fixture(scope="module")
def offline(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    save_page(folder / "add.html", view="programs", program="addition", input="34+56")
    save_page(folder / "say.html", view="networks", sentence="the city of London")
    return folder


def test_the_files_work_without_a_server(visit, offline):
    expect = pytest.importorskip("playwright.sync_api").expect
    visit.goto((offline / "add.html").as_uri())
    expect(visit.locator(".answer")).to_contain_text("every value agrees")
    visit.get_by_label("Last step (End)").click()
    visit.locator("#cell-5-5").click()
    expect(visit.locator(".told")).to_contain_text("out = 0")
    assert visit.locator(".espalier-history .box").count() > 10
    visit.get_by_role("button", name="Rules", exact=True).click()
    expect(visit.locator(".rules .fired").first).to_be_visible()
    visit.get_by_role("button", name="Residual stream", exact=True).click()
    expect(visit.locator(".legend")).to_contain_text(
        "espalier explore"
    )  # it says what is not in it
    visit.goto((offline / "say.html").as_uri())
    expect(visit.locator(".arcs .word")).to_have_count(4)
    visit.check("file:")


FAKE = """
const answers = JSON.parse(document.getElementById("answers").textContent);
const listeners = {};
let held = "view=programs&program=addition&input=34%2B56";
const model = {
  get: () => held,
  set: (_, state) => { held = state; listeners["change:state"]?.(); }, // at once, as marimo does
  save_changes() {},
  on: (name, call) => { listeners[name] = call; },
  send: ({ number, name, question }) => setTimeout(() => listeners["msg:custom"](
    { number, answer: answers[espalierExplorer.keyOf(name, question)] ?? { error: "none" } })),
};
shown.render({ model, el: document.body });
"""


def test_the_widget_is_drawn_by_the_same_modules(visit, tmp_path):
    expect = pytest.importorskip("playwright.sync_api").expect
    run = {"program": "addition", "input": "34+56", "sets": []}
    asked = [("programs", {}), ("program", {"program": "addition"}), ("trace", run)]
    answers = {key_of(name, one): answer(Session(), name, one) for name, one in asked}
    esm = (script() + RENDER).replace("export default", "const shown =")
    page = tmp_path / "widget.html"
    held = json.dumps(answers).replace("<", "\\u003c")
    page.write_text(
        f'<meta charset="utf-8"><link rel="icon" href="data:,"><body>'
        f'<script type="application/json" id="answers">{held}</script>'
        f'<script type="module">{esm}{FAKE}</script>'
    )
    visit.goto(page.as_uri())
    expect(visit.locator(".machine b").first).to_have_text("90")
    visit.check("file:")
