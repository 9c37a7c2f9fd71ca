"""A trace as a page that people step through, and as the snippet that notebooks show.

The page holds the trace as JSON, every value, column and rule once, and trace.js draws the step
that is looked at. What is too long for a page is left out of the middle, and the page says so.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from espalier.language import ByInput, ByPosition, Constant, Program, show_value
from espalier.show.pages import fill, page, plain, row, style, table
from espalier.show.programs import listed_rules
from espalier.show.text import count, ends, without_middle
from espalier.show.trace_data import trace_data
from espalier.show.trace_text import (
    SHOWN_LAYERS,
    changed,
    ending,
    headline,
    output_names,
    title,
    token_names,
)

if TYPE_CHECKING:
    from espalier.interpreter import Trace
    from espalier.language import Value

# Cells and positions of the tables that need no script.
PAGE_CELLS = 30_000
FRAGMENT_CELLS = 6_000
SHOWN_POSITIONS = 60
# Characters across that leave room for the program next to the stepper.
MOST_BESIDE = 50


def trace_page(trace: Trace) -> str:
    """One self-contained HTML file: a stepper over sub-layers, the program, all layers."""
    held = trace_data(trace)
    data = json.dumps(held, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&":  # no name may end the script element
        data = data.replace(character, f"\\u{ord(character):04x}")
    widest = max(map(len, held["shown"]))
    across = sum(max(widest, len(token)) + 2 for token in held["tokens"])
    body = fill(
        "trace.html",
        input=_sequence(token_names(trace)),
        output=_sequence(output_names(trace)),
        ending=ending(trace),
        counts=_counts(trace),
        width="wide" if across + max(map(len, held["names"])) > MOST_BESIDE else "",
        program=program_tables(trace.program),
        layers=_all_layers(trace, PAGE_CELLS),
        data=data,
    )
    styles = ["trace.css", "trace-page.css"]
    return page(headline(trace), body, styles=styles, scripts=["history.js", "trace.js"])


def trace_fragment(trace: Trace) -> str:
    """A static snippet, one table for each sub-layer, whose styles stay inside it."""
    return (
        f"{style('trace.css')}\n<p><code>{_sequence(token_names(trace))} → "
        f"{_sequence(output_names(trace))}</code> ({ending(trace)})</p>\n"
        f"{_all_layers(trace, FRAGMENT_CELLS)}"
    )


def _counts(trace: Trace) -> str:
    program = trace.program
    counts = {
        "position": trace.tokens,
        "variable": program.variables,
        "head": program.heads,
    }
    rules = listed_rules(program)
    written = program.rules.summary if rules is None else count(len(rules), "rule")
    return " · ".join([*(count(len(held), noun) for noun, held in counts.items()), written])


def _sequence(items: Iterable[str]) -> str:
    """The words as HTML, without the middle of many."""
    words = [plain(item) for item in items]
    return " ".join(without_middle(words, 24, f"<i>… {len(words) - 24} more …</i>"))


def program_tables(program: Program) -> str:
    """The program's variables, heads and numbers of rules, and how it halts."""
    rules = listed_rules(program)
    numbers = Counter(rule.output for rule in rules or ())

    def line(name: str, *cells: str) -> str:
        kind = "output" if name == program.output_name else ""
        number = "?" if rules is None else f"{numbers[name]:,}"
        return row(map(plain, (name, *cells, number)), kind=kind)

    variables = [
        line(name, str(spec), _first(program, name)) for name, spec in program.variables.items()
    ]
    heads = [line(name, str(head)) for name, head in program.heads.items()]
    halt = program.halt
    halting = (
        f"Halts when {halt.variable} = {program.write(halt.variable, halt.value)} everywhere."
        if halt
        else "No halting condition."
    )
    if program.causal:
        halting += " Causal: a position sees itself and those to its left."
    return (
        '<div class="espalier-trace">\n'
        f"{table(['variable', 'kind', 'starts', 'rules'], variables)}"
        f"{table(['head', 'carries', 'resets'], heads) if heads else ''}</div>\n"
        f"<p>{plain(halting)}</p>"
    )


def program_fragment(program: Program) -> str:
    """The same tables with their style, for a notebook."""
    return style("trace.css") + program_tables(program)


def _first(program: Program, name: str) -> str:
    match program.initial[name]:
        case Constant(value):
            return f"as {program.write(name, value)}"
        case ByInput():
            return "by token"
        case ByPosition():
            return "by position"


def _all_layers(trace: Trace, cells: int) -> str:
    """A table for each sub-layer of the first and last layers, about `cells` cells in all."""
    positions = ends(len(trace.tokens), SHOWN_POSITIONS)
    fit = cells // (2 * len(trace.program.specs) * len(positions))
    layers = ends(trace.layers + 1, max(2, min(fit, SHOWN_LAYERS)) + 1)
    parts, expected = [], 0
    for layer in layers:
        if layer > expected:
            parts.append(f"<p>… {count(layer - expected, 'layer')} not shown …</p>\n")
        expected = layer + 1
        places = range(max(0, 2 * layer - 1), 2 * layer + 1)
        parts += [_table(trace, place, positions) for place in places]
    hidden = len(trace.tokens) - len(positions)
    note = f"<p>{count(hidden, 'position')} in the middle not shown.</p>\n" if hidden else ""
    return f'<div class="espalier-trace">{note}<div class="layers">{"".join(parts)}</div></div>\n'


def _table(trace: Trace, place: int, positions: list[int]) -> str:
    """One sub-layer: variables down, positions across, a column of dots for those left out."""
    moment, previous = trace.moments[place], trace.moments[place - 1] if place else None
    shown: list[int | None] = [*positions]
    if len(positions) < len(trace.tokens):
        shown.insert(len(positions) - len(positions) // 2, None)
    tokens = token_names(trace)
    rows = []
    for name, column in moment.columns.items():
        cells = [
            "…"
            if p is None
            else _cell(trace.program, name, column[p], changed(moment, previous, name, p))
            for p in shown
        ]
        kind = "output" if name == trace.program.output_name else ""
        rows.append(row([plain(name), *cells], kind=kind))
    head = ["input", *("…" if p is None else tokens[p] for p in shown)]
    return table(head, rows, caption=title(moment))


def _cell(program: Program, name: str, value: Value | None, is_changed: bool) -> str:
    names = ["null"] * (value is None) + ["changed"] * is_changed
    mark = f' class="{" ".join(names)}"' if names else ""
    text, code = plain(program.write(name, value)), show_value(value)
    mark += f' title="code {code}"' if text != code else ""
    # Bold by its element too: some viewers of notebooks drop styles.
    return f"<td{mark}>{f'<b>{text}</b>' if is_changed else text}</td>"
