"""The table of contents of this room: for every type of result, its text, HTML, page and figure.

Views are registered when a result of some room is first shown, so that a trace can be printed
without torch, and anything without matplotlib. Types and drawing functions are therefore imported
inside the functions.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any, TypeVar

from espalier.results import Result, View, describe, register

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from espalier.learnability import MinimalProgram

T = TypeVar("T", bound=Result)
Draw = Callable[[Any, "Axes | None"], "Figure"]


def load_views(module: str) -> None:
    """Register how the results that a module of espalier defines look."""
    room = module.split(".")[1] if module.startswith("espalier.") else ""
    if room in _ROOMS:
        _ROOMS[room]()


def _interpreter() -> None:
    from espalier.interpreter import Explanation, Trace
    from espalier.show.explanations import explanation_tables, explanation_text
    from espalier.show.trace_page import trace_fragment, trace_page
    from espalier.show.trace_text import trace_text

    register(Trace, View(trace_text, trace_fragment, trace_page, _drawn_by("draw_trace")))
    history = _drawn_by("draw_history")
    register(Explanation, _with(explanation_text, explanation_tables, history, lines=2))


def _decomposition() -> None:
    from espalier.decomposition import Dependence, PairBlock, PairMatrix, Parts, WordSets
    from espalier.show import pairs_page as html
    from espalier.show.pairs_text import pairs_text, parts_text
    from espalier.show.sentences import block_text, dependence_text, sets_text

    matrix, lines = _drawn_by("draw_pairs"), _drawn_by("draw_parts")
    register(PairMatrix, View(pairs_text, html.pairs_fragment, html.pairs_page, matrix))
    register(Parts, View(parts_text, html.parts_fragment, html.parts_page, lines))
    register(Dependence, _with_table(dependence_text, _drawn_by("draw_dependence")))
    register(PairBlock, _with_table(block_text, _drawn_by("draw_block")))
    register(WordSets, _with_table(sets_text, _drawn_by("draw_sets")))


def _language() -> None:
    from espalier.language import Generation, Program, Run, Runs
    from espalier.show.programs import generation_text, program_text, run_text, runs_text
    from espalier.show.trace_page import program_fragment

    register(Run, _with_table(run_text))
    register(Runs, _with_table(runs_text, _drawn_by("draw_runs"), lines=1))
    register(Generation, _with_table(generation_text))
    register(Program, _with(program_text, program_fragment, lines=1))


def _zoo() -> None:
    from espalier.show.programs import entry_text
    from espalier.show.trace_page import program_fragment
    from espalier.zoo import Entry

    register(Entry, _with(entry_text, lambda entry: program_fragment(entry.program), lines=2))


def _programs() -> None:
    from espalier.programs import Circuit, Evaluation, Verification
    from espalier.show.explanations import circuit_text
    from espalier.show.programs import evaluation_text, verification_text

    register(Circuit, _with_table(circuit_text, _drawn_by("draw_circuit")))
    register(Verification, _with_table(verification_text))
    register(Evaluation, _with_table(evaluation_text, _drawn_by("draw_evaluation")))


def _compiler() -> None:
    from espalier.compiler import Margins
    from espalier.show.programs import margins_text

    register(Margins, _with_table(margins_text, lines=1))


def _learnability() -> None:
    from espalier.learnability import Dropped, LocalOptimum, MinimalProgram, Traces
    from espalier.show import learnability as texts

    register(Dropped, _with_table(texts.dropped_text))
    register(MinimalProgram, _with(texts.minimal_text, _minimal_tables, lines=1))
    register(LocalOptimum, _with_table(texts.optimum_text, _drawn_by("draw_optimum")))
    register(Traces, _with_table(texts.traces_text))


def _minimal_tables(program: MinimalProgram) -> str:
    from espalier.show.pages import frame_table
    from espalier.show.trace_page import program_fragment

    dropped = f"<pre>{escape(str(program.dropped))}</pre>{frame_table(program.dropped.to_frame())}"
    return program_fragment(program) + dropped


def _data() -> None:
    from espalier.data import Treebank
    from espalier.show.sentences import treebank_text

    register(Treebank, _with_table(treebank_text, _drawn_by("draw_treebank")))


def _training() -> None:
    from espalier.training import TrainedRun

    register(TrainedRun, _with_table(TrainedRun.__str__, _drawn_by("draw_training")))


def _results() -> None:
    """Of a type that has no view: its own text or its fields, its own figure, its table."""

    def text(result: Result) -> str:
        own = type(result).__str__ is not Result.__str__
        return str(result) if own else describe(result)

    def tables(result: Result) -> str:
        from espalier.show.pages import frame_table

        kind, parts = type(result), []
        if kind.plot is not Result.plot:
            from espalier.show.figures import svg

            parts.append(f'<div class="figure">{svg(result.plot())}</div>')
        if kind.to_frame is not Result.to_frame:
            parts.append(frame_table(result.to_frame()))
        return "".join(parts)

    register(Result, _with(text, tables))


_ROOMS = {
    "compiler": _compiler,
    "data": _data,
    "decomposition": _decomposition,
    "interpreter": _interpreter,
    "language": _language,
    "learnability": _learnability,
    "programs": _programs,
    "results": _results,
    "training": _training,
    "zoo": _zoo,
}


def _drawn_by(name: str) -> Draw:
    """A function of `figures`, which is imported when something is drawn."""

    def draw(result: Any, ax: Axes | None) -> Figure:
        from espalier.show import figures

        figure: Figure = getattr(figures, name)(result, ax=ax)
        return figure

    return draw


def _with_table(
    text: Callable[[T], str], figure: Draw | None = None, *, lines: int | None = None
) -> View[T]:
    """The first lines of a result's text, or all, above its table."""
    from espalier.show.pages import frame_table

    return _with(text, lambda result: frame_table(result.to_frame()), figure, lines=lines)


def _with(
    text: Callable[[T], str],
    tables: Callable[[T], str],
    figure: Draw | None = None,
    *,
    lines: int | None = None,
) -> View[T]:
    """The first lines of a result's text, or all, above some tables."""
    from espalier.show.pages import page, style

    def body(result: T) -> str:
        said = escape("\n".join(text(result).splitlines()[:lines]))
        return f'<div class="espalier-table"><pre>{said}</pre>{tables(result)}</div>'

    def whole(result: T) -> str:
        return page(text(result).splitlines()[0], body(result), styles=["table.css"])

    return View(text, lambda result: style("table.css") + body(result), whole, figure)
