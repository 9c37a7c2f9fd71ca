"""A trace as a page that people step through, and as the snippet that notebooks show.

The page holds the trace as JSON, every value, column and rule once, and page.js draws the step
that is looked at. What is too long for a page is left out of the middle, and the page says so.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from espalier.interpreter.payload import cut, payload
from espalier.interpreter.rendering import (
    SHOWN_LAYERS,
    changed,
    ends,
    headline,
    title,
    token_names,
)
from espalier.language import ByInput, ByPosition, Constant, Program, show_value

if TYPE_CHECKING:
    from espalier.interpreter.trace import Trace
    from espalier.language import Value

# Cells and positions of the tables that need no script.
PAGE_CELLS = 30_000
FRAGMENT_CELLS = 6_000
SHOWN_POSITIONS = 60
# Characters across that leave room for the program beside the stepper.
MOST_BESIDE = 50

# Every selector names .espalier-trace, so that nothing outside is touched. Translucent colours
# and the surrounding text colour suit light and dark notebooks alike.
TABLE_STYLE = """
.espalier-trace { max-width: 100%; overflow-x: auto; }
.espalier-trace .layers { display: flex; flex-wrap: wrap; gap: .6em 2.2em; align-items: flex-end; }
.espalier-trace .layers > p { flex-basis: 100%; margin: .2em 0; }
.espalier-trace table { border-collapse: separate; border-spacing: 0; width: auto; margin: .4em 0;
  font: .85em/1.5 ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; color: inherit; }
.espalier-trace table caption { caption-side: top; text-align: left; padding: 0 0 .3em;
  font: 600 1.05em/1.4 system-ui, sans-serif; color: inherit; white-space: nowrap; }
.espalier-trace table th, .espalier-trace table td { padding: .1em .5em; text-align: center;
  white-space: nowrap; font-weight: normal; color: inherit; vertical-align: baseline;
  border: 0 solid rgba(128, 128, 128, .35); border-bottom-width: 1px; max-width: none; }
.espalier-trace table thead th { font-size: .85em; }
.espalier-trace table tr > :first-child { text-align: right; padding-right: .9em; }
.espalier-trace table .null, .espalier-trace table thead th {
  color: gray; color: color-mix(in srgb, currentColor 65%, transparent); }
.espalier-trace table .changed { background: rgba(36, 116, 245, .22); font-weight: 700;
  box-shadow: inset 0 -3px 0 rgb(36, 116, 245); }
.espalier-trace table .output > * { border: 0 solid rgb(220, 50, 50); border-width: 2px 0; }
.espalier-trace table .output > :first-child { border-left-width: 2px; }
.espalier-trace table .output > :last-child { border-right-width: 2px; }
"""


def render_page(trace: Trace) -> str:
    """One self-contained HTML file: a stepper over sub-layers, the program, all layers."""
    held = payload(trace)
    data = json.dumps(held, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&":  # no name may end the script element
        data = data.replace(character, f"\\u{ord(character):04x}")
    widest = max(map(len, held["shown"]))
    across = sum(max(widest, len(token)) + 2 for token in held["tokens"])
    wide = ' class="wide"' if across + max(map(len, held["names"])) > MOST_BESIDE else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(headline(trace))}</title>\n"
        f"<style>{TABLE_STYLE}{_resource('page.css')}</style>\n</head>\n<body>\n"
        f"{_header(trace)}\n<main{wide}>\n"
        '<section id="stepper" aria-label="Step by step"><noscript>Stepping through the trace '
        "needs JavaScript; the tables below do not.</noscript></section>\n"
        f"{_facts(trace.program)}\n"
        f'<section id="all"><h2>All layers</h2>\n{_all_layers(trace, PAGE_CELLS)}</section>\n'
        f'</main>\n<script type="application/json" id="trace">{data}</script>\n'
        f"<script>{_resource('page.js')}</script>\n</body>\n</html>\n"
    )


def render_fragment(trace: Trace) -> str:
    """A static snippet, one table for each sub-layer, whose styles stay inside it."""
    return (
        f"<style>{TABLE_STYLE}</style>\n<p><code>{_sequence(token_names(trace))} → "
        f"{_sequence(map(str, trace.outputs))}</code> ({_ending(trace)})</p>\n"
        f"{_all_layers(trace, FRAGMENT_CELLS)}"
    )


def _header(trace: Trace) -> str:
    program = trace.program
    counts = (
        (len(trace.tokens), "position"),
        (len(program.variables), "variable"),
        (len(program.heads), "head"),
        (len(program.rules), "rule"),
    )
    return (
        f"<header>\n<h1><span>{_sequence(token_names(trace))}</span> "
        f"<span>{_sequence(map(str, trace.outputs))}</span></h1>\n"
        f"<p><strong>{_ending(trace)}</strong> · "
        f"{' · '.join(_count(*pair) for pair in counts)}</p>\n</header>"
    )


def _ending(trace: Trace) -> str:
    return f"{'halted' if trace.halted else 'stopped'} after {_count(trace.layers, 'layer')}"


def _sequence(items: Iterable[str]) -> str:
    """The words as HTML, without the middle of many."""
    words = list(items)
    shown = ends(len(words), 24)
    text = [_text(words[place]) for place in shown]
    if len(shown) < len(words):
        text.insert(len(text) // 2, f"<i>… {len(words) - len(shown)} more …</i>")
    return " ".join(text)


def _facts(program: Program) -> str:
    """The program's variables, heads and numbers of rules."""
    rules = Counter(rule.output for rule in program.rules)
    variables = [
        _row(name, program, [str(spec), _first(program, name), f"{rules[name]:,}"])
        for name, spec in program.variables.items()
    ]
    heads = [
        _row(name, program, [cut(str(head)), f"{rules[name]:,}"])
        for name, head in program.heads.items()
    ]
    halt = program.halt
    ending = (
        f"Halts when {halt.variable} = {halt.value} everywhere."
        if halt
        else "No halting condition."
    )
    if program.causal:
        ending += " Causal: a position sees itself and those to its left."
    return (
        '<section id="program"><h2>Program</h2>\n<div class="espalier-trace">\n'
        f"{_list(['variable', 'kind', 'starts', 'rules'], variables)}"
        f"{_list(['head', 'carries', 'resets'], heads) if heads else ''}</div>\n"
        f"<p>{_text(ending)}</p></section>"
    )


def _list(titles: list[str], rows: list[str]) -> str:
    cells = "".join(f'<th scope="col">{name}</th>' for name in titles)
    return f"<table><thead><tr>{cells}</tr></thead>\n<tbody>{''.join(rows)}</tbody></table>\n"


def _row(name: str, program: Program, cells: list[str]) -> str:
    """The cells of a variable as a row, marked if it is the output."""
    mark = ' class="output"' if name == program.output_name else ""
    text = "".join(f"<td>{_text(cell)}</td>" for cell in cells)
    return f'<tr{mark}><th scope="row">{_text(name)}</th>{text}</tr>\n'


def _first(program: Program, name: str) -> str:
    match program.initial[name]:
        case Constant(value):
            return f"as {show_value(value)}"
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
            parts.append(f"<p>… {_count(layer - expected, 'layer')} not shown …</p>\n")
        expected = layer + 1
        places = range(max(0, 2 * layer - 1), 2 * layer + 1)
        parts += [_table(trace, place, positions) for place in places]
    hidden = len(trace.tokens) - len(positions)
    note = f"<p>{_count(hidden, 'position')} in the middle not shown.</p>\n" if hidden else ""
    return f'<div class="espalier-trace">{note}<div class="layers">{"".join(parts)}</div></div>\n'


def _table(trace: Trace, place: int, positions: list[int]) -> str:
    """One sub-layer: variables down, positions across, a column of dots for those left out."""
    moment, previous = trace.moments[place], trace.moments[place - 1] if place else None
    tokens = token_names(trace)
    gap = len(positions) - len(positions) // 2 if len(positions) < len(tokens) else -1

    def row(cells: list[str], dots: str) -> str:
        return "".join(cells if gap < 0 else [*cells[:gap], dots, *cells[gap:]])

    header = row([f'<th scope="col">{_text(tokens[p])}</th>' for p in positions], "<th>…</th>")
    body = ""
    for name, column in moment.columns.items():
        mark = ' class="output"' if name == trace.program.output_name else ""
        cells = [_cell(column[p], changed(moment, previous, name, p)) for p in positions]
        text = row(cells, "<td>…</td>")
        body += f'<tr{mark}><th scope="row">{_text(name)}</th>{text}</tr>\n'
    return (
        f"<table><caption>{title(moment)}</caption>\n"
        f'<thead><tr><th scope="row">input</th>{header}</tr></thead>\n'
        f"<tbody>{body}</tbody></table>\n"
    )


def _cell(value: Value | None, is_changed: bool) -> str:
    names = ["null"] * (value is None) + ["changed"] * is_changed
    mark = f' class="{" ".join(names)}"' if names else ""
    # Bold by its element too: some viewers of notebooks drop styles.
    text = f"<b>{show_value(value)}</b>" if is_changed else show_value(value)
    return f"<td{mark}>{text}</td>"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + "s" * (number != 1)


def _text(text: str) -> str:
    return escape(cut(text))


def _resource(name: str) -> str:
    return files("espalier.interpreter").joinpath(name).read_text("utf-8")
