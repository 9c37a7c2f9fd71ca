import itertools
import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from espalier.interpreter import Trace, interpret
from espalier.language import Rule, program_spec, show_value, v_relative, var
from espalier.show.text import ends
from espalier.show.trace_data import trace_data
from espalier.show.trace_page import trace_fragment, trace_page
from espalier.show.trace_text import changed, title
from parity import START, sequential_relative, sum_modulo
from strategies import cases

HOSTILE = "a</script><script>alert(1)</script>&lt;\"'"


class Document(HTMLParser):
    """What a browser makes of a page: its tables, its scripts and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.scripts: list[str] = []
        self.tables: list[dict] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        self._open.append(tag)
        classes = (attributes.get("class") or "").split()
        match tag:
            case "script":
                self.scripts.append("")
            case "table":
                self.tables.append({"caption": "", "rows": []})
            case "tr":
                self.tables[-1]["rows"].append({"classes": classes, "cells": []})
            case "td" | "th":
                self.tables[-1]["rows"][-1]["cells"].append({"classes": classes, "text": ""})

    def handle_endtag(self, tag):
        while self._open.pop() != tag:
            pass

    def handle_data(self, data):
        if "script" in self._open:
            self.scripts[-1] += data
            return
        self.text += data
        if "caption" in self._open:
            self.tables[-1]["caption"] += data
        elif {"td", "th"} & set(self._open):
            self.tables[-1]["rows"][-1]["cells"][-1]["text"] += data

    @property
    def data(self) -> dict:
        return json.loads(self.scripts[0])

    @property
    def moments(self) -> list[dict]:
        return [table for table in self.tables if table["caption"]]


def parity_trace(length: int) -> Trace:
    bits = [position * 7 % 3 % 2 for position in range(length - 1)]
    return interpret(sequential_relative(), [START, *bits])


def hostile_trace() -> Trace:
    program = program_spec(
        variables={HOSTILE: var(2, input_init_fn=lambda x: x), "<b>": var(2)},
        heads={"'\"<h>": v_relative(HOSTILE, 1)},
        rules=[Rule({HOSTILE: 1}, "<b>", 0, 1)],
        output_name="<b>",
        input_range=2,
        vocabulary=["<!--", HOSTILE],
    )
    return interpret(program, [0, 1, 1], max_layers=2)


def busy_program(variables: int, heads: int):
    size = 50
    return program_spec(
        variables={
            f"variable_{n}": var(size, position_init_fn=lambda x, n=n: (7 * x + n) % size)
            for n in range(variables)
        },
        heads={f"head_{n}": v_relative(f"variable_{n}", -1 - n) for n in range(heads)},
        rules=[
            Rule({}, f"variable_{n}", old, (old + 1 + n) % size)
            for n in range(variables)
            for old in range(size)
        ],
        output_name="variable_0",
        input_range=1,
        position_range=100,
    )


@given(cases(strict=True))
def test_the_page_holds_the_whole_trace_data(case):
    trace = interpret(case.program, case.batch[0], max_layers=case.max_layers)
    assert Document(trace_page(trace)).data == json.loads(json.dumps(trace_data(trace)))


@pytest.mark.parametrize("render", [trace_page, trace_fragment])
@given(case=cases(strict=True))
def test_tables_mark_exactly_what_changed_what_is_null_and_the_output(render, case):
    trace = interpret(case.program, case.batch[0], max_layers=case.max_layers)
    tables = Document(render(trace)).moments
    assert [table["caption"] for table in tables] == [title(moment) for moment in trace.moments]
    previous = None
    for table, moment in zip(tables, trace.moments, strict=True):
        for row, (name, column) in zip(table["rows"][1:], moment.columns.items(), strict=True):
            assert row["cells"][0]["text"] == name
            assert ("output" in row["classes"]) == (name == case.program.output_name)
            for position, cell in enumerate(row["cells"][1:]):
                assert cell["text"] == show_value(column[position])
                assert ("null" in cell["classes"]) == (column[position] is None)
                is_new = changed(moment, previous, name, position)
                assert ("changed" in cell["classes"]) == is_new
        previous = moment


@pytest.mark.parametrize("render", [trace_page, trace_fragment])
def test_names_are_text_and_never_markup(render):
    page = render(hostile_trace())
    document = Document(page)
    allowed = {"script": 3, "noscript": 1} if render is trace_page else {}
    tags = [tag for tag, _ in document.tags]
    assert {tag: tags.count(tag) for tag in ("script", "noscript") if tag in tags} == allowed
    assert "alert" not in "".join(attribute for _, a in document.tags for attribute in a)
    assert document.text.count(HOSTILE) > 2
    assert "h" not in tags
    assert [row["cells"][0]["text"] for row in document.moments[0]["rows"][1:]] == [
        HOSTILE,
        "<b>",
        "'\"<h>",
    ]


def test_hostile_names_survive_in_the_data():
    document = Document(trace_page(hostile_trace()))
    assert document.data["names"] == [HOSTILE, "<b>", "'\"<h>"]
    assert document.data["tokens"] == ["<!--", HOSTILE, HOSTILE]
    assert not re.search("[<>&]", document.scripts[0])


def test_the_page_needs_no_network():
    page = trace_page(parity_trace(6))
    assert "http" not in page
    assert "url(" not in page
    assert "@import" not in page
    attributes = {name for _, found in Document(page).tags for name in found}
    assert not attributes & {"src", "href", "srcset", "action", "onload", "onclick"}


def test_the_page_says_its_language_title_and_ending():
    trace = parity_trace(3)
    document = Document(trace_page(trace))
    assert ("html", {"lang": "en"}) in document.tags
    assert any(found.get("name") == "viewport" for _, found in document.tags)
    assert "(halted after 2 layers)" in document.text
    stopped = interpret(trace.program, trace.tokens, max_layers=1)
    assert "stopped after 1 layer " in Document(trace_page(stopped)).text


def test_the_page_lists_variables_heads_and_numbers_of_rules():
    trace = interpret(sum_modulo(4), [START, 1, 1], max_layers=1)
    rows = [row for table in Document(trace_page(trace)).tables[:2] for row in table["rows"][1:]]
    program = trace.program
    assert [row["cells"][0]["text"] for row in rows] == [*program.variables, *program.heads]
    for row in rows:
        name = row["cells"][0]["text"]
        assert row["cells"][-1]["text"] == str(len(program.rules.of(name)))
        assert row["cells"][1]["text"] == str(program.variables.get(name, program.heads.get(name)))


def test_a_function_with_more_rules_than_can_be_listed_has_a_page():
    def add(state):
        state["odd"] = sum(state[f"x{n}"] for n in range(12)) % 2

    program = program_spec(
        variables={f"x{n}": var(10, input_init_fn=lambda x: x) for n in range(12)}
        | {"odd": var(2)},
        ffn_fn=add,
        rules="lazy",
        output_name="odd",
        input_range=10,
    )
    page = trace_page(interpret(program, [1, 2], max_layers=1))
    assert "rules not explored yet" in Document(page).text
    assert Document(page).data["unexplained"]


def test_the_styles_of_a_fragment_stay_inside_it():
    fragment = trace_fragment(parity_trace(3))
    assert "<script" not in fragment
    styles = re.findall(r"<style>(.*?)</style>", fragment, re.DOTALL)
    assert len(styles) == 1
    selectors = [s for rule in re.findall(r"([^{}]+)\{", styles[0]) for s in rule.split(",")]
    assert len(selectors) > 5
    assert all(re.match(r"\s*\.espalier-trace\b", selector) for selector in selectors)
    assert {found.get("class") for tag, found in Document(fragment).tags if tag == "div"} == {
        "espalier-trace",
        "layers",
    }


@pytest.mark.parametrize("render", [trace_page, trace_fragment])
def test_tables_of_a_long_trace_leave_out_the_middle_and_say_so(render):
    trace = parity_trace(80)
    document = Document(render(trace))
    captions = [table["caption"] for table in document.moments]
    assert captions[0] == title(trace.moments[0])
    assert captions[-1] == title(trace.moments[-1])
    missing = int(re.search(r"… (\d+) layers not shown …", document.text).group(1))
    assert (len(captions) - 1) / 2 + missing == trace.layers
    positions = int(re.search(r"(\d+) positions in the middle not shown", document.text).group(1))
    cells = document.moments[0]["rows"][1]["cells"]
    assert [cell["text"] for cell in cells].count("…") == 1
    assert len(cells) - 2 + positions == len(trace.tokens)


@given(st.integers(1, 60), st.integers(2, 60))
def test_ends_keep_both_ends_and_as_many_as_allowed(count, most):
    kept = ends(count, most)
    assert len(kept) == min(count, most)
    assert kept == sorted(set(kept))
    assert {kept[0], kept[-1]} == {0, count - 1}
    gaps = [low for low, high in itertools.pairwise(kept) if high > low + 1]
    assert len(gaps) == (count > most)


@pytest.mark.slow
def test_a_long_trace_makes_a_light_page():
    trace = interpret(busy_program(26, 4), [0] * 60, max_layers=400)
    assert len(trace_page(trace).encode()) < 10_000_000
    assert len(trace_fragment(trace)) < 1_000_000
