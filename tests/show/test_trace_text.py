import re

import pytest
from hypothesis import given

from espalier import zoo
from espalier.interpreter import Trace, interpret
from espalier.language import show_value
from espalier.show.trace_text import SHOWN_LAYERS, WIDEST, changed, headline, title, trace_text
from parity import START, sequential_relative, sum_modulo
from strategies import cases


def parity_trace(length: int, **how: int) -> Trace:
    return interpret(sequential_relative(), [START, *[1] * (length - 1)], **how)


def blocks(text: str) -> dict[str, list[str]]:
    """The lines of each block by its title; the headline stands alone."""
    found = [block.splitlines() for block in text.split("\n\n")[1:]]
    return {lines[0]: lines[1:] for lines in found}


def is_shortened(shown: str, whole: str) -> bool:
    """Whether a value is shown as it is, or a long one by its two ends."""
    if len(whole) <= WIDEST:
        return shown == whole
    first, last = shown.split("…")
    return len(first + last) == WIDEST and whole.startswith(first) and whole.endswith(last)


def test_columns_stay_narrow_where_sets_are_large():
    entry = zoo.load("reverse")
    text = trace_text(interpret(entry.program, entry.encode("hello")))
    assert "{·,0,1,2…9,30,31}" in text
    assert max(map(len, text.splitlines())) < 140  # six positions


@given(cases(strict=True))
def test_every_sublayer_is_a_block_that_marks_exactly_what_changed(case):
    trace = interpret(case.program, case.batch[0], max_layers=case.max_layers)
    found = blocks(trace_text(trace))
    assert list(found) == [title(moment) for moment in trace.moments]
    previous = None
    for moment in trace.moments:
        for line, (name, column) in zip(found[title(moment)], moment.columns.items(), strict=True):
            label, *cells = line.removeprefix(">").split()
            assert label == name
            assert line.startswith(">") == (name == case.program.output_name)
            for cell, value in zip(cells, column, strict=True):
                assert is_shortened(cell.removesuffix("*"), show_value(value))
            assert [cell.endswith("*") for cell in cells] == [
                changed(moment, previous, name, position) for position in range(len(column))
            ]
        previous = moment


@given(cases(strict=True))
def test_changed_means_that_the_value_differs(case):
    trace = interpret(case.program, case.batch[0], max_layers=case.max_layers)
    first = trace.moments[0]
    for name, column in first.columns.items():
        assert not any(changed(first, None, name, place) for place in range(len(column)))
        assert not any(changed(first, first, name, place) for place in range(len(column)))
    for before, after in zip(trace.moments, trace.moments[1:], strict=False):
        for name, column in after.columns.items():
            marks = [changed(after, before, name, place) for place in range(len(column))]
            assert marks == [a != b for a, b in zip(column, before.columns[name], strict=True)]


@pytest.mark.parametrize("layers", [SHOWN_LAYERS + 1, SHOWN_LAYERS + 30])
def test_a_long_trace_shows_its_ends_and_says_how_much_is_missing(layers):
    trace = parity_trace(layers + 1)
    assert trace.layers == layers
    text = trace_text(trace)
    titles = [line for line in text.splitlines() if re.fullmatch("layer .*|before .*", line)]
    missing = re.findall(r"^\.\.\. (\d+) layers \.\.\.$", text, re.MULTILINE)
    assert missing == [str(layers - SHOWN_LAYERS)]
    half = SHOWN_LAYERS // 2
    kept = {0, *range(1, half + 1), *range(layers - half + 1, layers + 1)}
    assert titles == [title(moment) for moment in trace.moments if moment.layer in kept]
    gap = text.index("...")
    assert text.index(f"layer {half}, after MLP") < gap
    assert gap < text.index(f"layer {layers - half + 1}, after attention")


def test_a_trace_that_is_just_short_enough_is_whole():
    text = trace_text(parity_trace(SHOWN_LAYERS + 1))
    assert "..." not in text
    assert text.count("after MLP") == SHOWN_LAYERS


@pytest.mark.parametrize(
    ("trace", "expected"),
    [
        (parity_trace(3), "2 1 1  ->  0 1 0   (halted after 2 layers)"),
        (parity_trace(3, max_layers=1), "2 1 1  ->  0 1 1   (stopped after 1 layer)"),
        (parity_trace(2, max_layers=0), "2 1  ->  0 1   (stopped after 0 layers)"),
    ],
)
def test_the_headline_says_input_output_and_ending(trace, expected):
    assert headline(trace) == expected
    assert trace_text(trace).splitlines()[0] == expected


def test_a_trace_prints_itself():
    trace = interpret(sum_modulo(4), [START, 1, 0], max_layers=1)
    assert str(trace) == trace_text(trace)
    assert repr(trace).splitlines()[:8] == str(trace).splitlines()[:8]
