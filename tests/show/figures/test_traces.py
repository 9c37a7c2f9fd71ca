import re
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from matplotlib.figure import Figure

from espalier.errors import FileError, ProgramError
from espalier.files import write_figure
from espalier.interpreter import Trace, interpret
from espalier.language import Rule, program_spec, show_value, var
from espalier.show.figures.traces import MOST_HEIGHT, MOST_WIDTH, draw_trace
from espalier.show.trace_text import changed, title
from parity import START, sequential_relative
from strategies import cases


def parity_trace(length: int) -> Trace:
    return interpret(sequential_relative(), [START, *[1] * (length - 1)])


def texts(figure: Figure, **style: object) -> list[str]:
    """What is written on the figure, in the order of drawing."""
    [axes] = figure.axes
    wanted = style.items()
    return [
        t.get_text() for t in axes.texts if all(getattr(t, f"get_{k}")() == v for k, v in wanted)
    ]


def titles(figure: Figure) -> list[str]:
    return [text for text in texts(figure) if re.fullmatch("layer .*|before .*", text)]


def changes(trace: Trace) -> list[str]:
    """Every changed value, as it is shown."""
    return [
        show_value(after.columns[name][position])
        for before, after in zip(trace.moments, trace.moments[1:], strict=False)
        for name in trace.program.specs
        for position in range(len(trace.tokens))
        if changed(after, before, name, position)
    ]


@settings(max_examples=30)
@given(cases(strict=True))
def test_the_figure_shows_every_value_and_marks_exactly_the_changes(case):
    trace = interpret(case.program, case.batch[0], max_layers=case.max_layers)
    figure = draw_trace(trace, layers=range(trace.layers + 1))
    assert titles(figure) == [title(moment) for moment in trace.moments]
    values = Counter(
        show_value(value)
        for moment in trace.moments
        for column in moment.columns.values()
        for value in column
    )
    inputs = Counter(map(str, trace.tokens * len(trace.moments)))
    names = Counter([*trace.program.specs, "input"] * len(trace.moments))
    legend = Counter(["1", "changed", "output", "∅  null"])
    heading = texts(figure)[0]
    drawn = Counter(texts(figure)) - Counter([heading, *titles(figure)])
    assert drawn == values + inputs + names + legend
    bold = Counter(texts(figure, weight="bold")) - Counter([heading, *titles(figure)])
    assert bold == Counter(["1", *changes(trace)])
    marks, _, underlines, frames = figure.axes[0].collections
    assert len(marks.get_paths()) == len(underlines.get_paths()) == 1 + len(changes(trace))
    assert len(frames.get_paths()) == 1 + len(trace.moments)


def test_the_heading_says_input_output_and_ending():
    assert texts(draw_trace(parity_trace(3)))[0] == "2 1 1 → 0 1 0   (halted after 2 layers)"


def test_chosen_layers_are_drawn_once_and_in_order():
    trace = parity_trace(9)
    figure = draw_trace(trace, layers=[6, 2, 3, 6])
    assert titles(figure) == [
        f"layer {layer}, after {sublayer}"
        for layer in (2, 3, 6)
        for sublayer in ("attention", "MLP")
    ]
    assert texts(figure, style="italic") == ["… 2 layers not shown …"]


@pytest.mark.parametrize("layers", [[9], [-1, 2], []])
def test_layers_outside_the_trace_are_refused(layers):
    with pytest.raises(
        ProgramError, match=re.escape(f"layers are {layers}, but this trace has 0..8")
    ):
        draw_trace(parity_trace(9), layers=layers)


def test_a_long_trace_shows_its_ends_and_says_what_is_missing():
    trace = parity_trace(150)
    figure = draw_trace(trace)
    shown = titles(figure)
    assert shown[0] == title(trace.moments[0])
    assert shown[-1] == title(trace.moments[-1])
    [note] = texts(figure, style="italic")
    missing = int(re.fullmatch(r"… (\d+) layers not shown …", note).group(1))
    assert (len(shown) - 1) / 2 + missing == trace.layers
    width, height = figure.get_size_inches()
    assert width <= MOST_WIDTH
    assert height <= MOST_HEIGHT + 2


def test_a_long_input_leaves_out_its_middle_in_every_row():
    trace = parity_trace(150)
    figure = draw_trace(trace, layers=[0])
    assert texts(figure).count("…") == 1 + len(trace.program.specs)
    heading = texts(figure)[0]
    assert heading.count("…") == 2
    assert heading.endswith("(halted after 149 layers)")


def test_names_are_never_read_as_mathematics(tmp_path):
    name = r"$\frac{$"
    program = program_spec(
        variables={name: var(2)},
        rules=[Rule({}, name, 0, 1)],
        output_name=name,
        input_range=2,
        vocabulary=["$x$", "\n"],
    )
    figure = draw_trace(interpret(program, [0, 1], max_layers=1))
    assert texts(figure).count(name) == 3
    assert texts(figure).count("$x$") == texts(figure).count("\\n") == 3
    write_figure(tmp_path / "names.png", figure)
    assert (tmp_path / "names.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("suffix", "beginning"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".PDF", b"%PDF")]
)
def test_a_figure_is_saved_by_its_suffix_and_nothing_else_is_left(tmp_path, suffix, beginning):
    path = tmp_path / f"trace{suffix}"
    write_figure(path, draw_trace(parity_trace(3)))
    assert path.read_bytes().startswith(beginning)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["trace.jpg", "trace"])
def test_other_suffixes_are_refused(tmp_path, name):
    with pytest.raises(FileError, match=r"use one of \.png, \.svg, \.pdf"):
        write_figure(tmp_path / name, draw_trace(parity_trace(2)))
    assert list(tmp_path.iterdir()) == []


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "trace.png"
    path.write_text("old")
    figure = draw_trace(parity_trace(2))

    def fail(*_, **__):
        raise RuntimeError("disk full")

    monkeypatch.setattr(figure, "savefig", fail)
    with pytest.raises(RuntimeError, match="disk full"):
        write_figure(path, figure)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_drawing_needs_no_pyplot():
    code = "import sys, espalier.show; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
