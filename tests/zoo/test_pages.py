"""The pages about programs say what is true of them."""

import re
import runpy
from pathlib import Path

import pytest
from PIL import Image

import espalier as es
from espalier import rasp, zoo

DOCS = Path(__file__).parent.parent.parent / "docs"
SCRIPT = runpy.run_path(str(DOCS / "draw_programs.py"))
FIGURES = SCRIPT["FIGURES"]


@pytest.mark.parametrize("name", FIGURES)
def test_a_page_states_the_costs_of_its_program(name: str) -> None:
    page = (DOCS / "programs" / f"{name}.md").read_text()
    program = zoo.load(name).program
    heads = f"{len(program.heads)} head{'s' if len(program.heads) > 1 else ''}"
    costs = f"**{len(program.rules):,} rules** ({len(program.rules.resets):,} resets), {heads}"
    assert costs in page
    width = es.compile_program(program).layout.width
    assert re.search(rf"residual\s+width\s+{width:,}\b", page, re.I)
    row = re.search(rf"^\| {name} \| (.*) \|$", (DOCS / "programs" / "index.md").read_text(), re.M)
    assert row is not None
    sizes = [len(program.variables), len(program.heads), len(program.rules)]
    sizes += [len(program.rules.resets), width]
    assert row[1].split(" | ")[:5] == [f"{size:,}" for size in sizes]
    for variable in re.findall(r"^\| `(\w+)` \|", page, re.M):
        assert variable in program.specs


@pytest.mark.parametrize("name", FIGURES)
def test_a_picture_is_as_large_as_what_is_drawn_today(name: str) -> None:
    """A value or a variable with another name is mostly seen by that; `docs/draw_programs.py`."""
    wanted = [side * SCRIPT["DPI"] for side in SCRIPT["drawn"](name).get_size_inches()]
    with Image.open(DOCS / "images" / "programs" / f"{name}.png") as image:
        assert list(image.size) == pytest.approx(wanted, abs=1)


@pytest.mark.parametrize("name", FIGURES)
def test_a_page_shows_a_small_figure_and_a_command_that_runs(name: str) -> None:
    page = (DOCS / "programs" / f"{name}.md").read_text()
    assert (DOCS / "images" / "programs" / f"{name}.png").stat().st_size < 150_000
    assert f"(../images/programs/{name}.png)" in page
    command = re.search(rf'^espalier run {name} "?([^"#\n]+?)"?(\s+#.*)?$', page, re.M)
    assert command is not None
    entry = zoo.load(name)
    batch = [entry.encode(command[1])]
    run = es.interpret_many(entry.program, batch, max_layers=entry.max_layers)[0]
    assert entry.decode(run.outputs) == entry.expected(command[1])


def test_the_page_about_rasp_runs_as_printed() -> None:
    code = re.search(r"```python\n(.*?)```", (DOCS / "rasp.md").read_text(), re.S)
    assert code is not None
    names: dict[str, object] = {}
    exec(code[1], names)
    found = names["found"]
    assert isinstance(found, rasp.Translation)
    assert found.layers == 2
    assert rasp.evaluate(names["backwards"], "abca") == ["a", "c", "b", "a"]
    assert rasp.evaluate(names["smallest"], "bab") == [False, True, False]
