"""The history of a value as a figure: positions across, time downwards, an arrow for each step."""

from __future__ import annotations

from collections import defaultdict
from itertools import accumulate
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from espalier.interpreter import Explanation
from espalier.interventions import Node
from espalier.show.explanations import headline
from espalier.show.figures.canvas import BLUE, GREY, INK, PALE, QUIET, RED, panel_on, whole
from espalier.show.text import count, shorten
from espalier.show.trace_text import token_names

LINE, COLUMN = 0.32, 0.5  # inches that a value takes at least
LETTERS, LETTER = 8, 0.067  # their size in points, and the width of one in inches
MOST_VALUES = 150
LONGEST = 14

COLOURS = {"read": INK, "carried": BLUE, "query": GREY, "key": GREY}


def draw_history(why: Explanation, *, ax: Axes | None = None) -> Figure:
    """Every value that a rule wrote, a head carried or the input gave, and what it was made of.

    What was kept as it was is not drawn again; of a long history the last values are.
    """
    found, explained = why.links, why.origin(why.target)
    shown = sorted(found, key=lambda node: (-node.layer, node.sublayer == "attention", node))
    left, shown = len(shown) - MOST_VALUES, shown[:MOST_VALUES]
    lines, height = _lines(why, shown)
    texts = {node: _told(why, node) for node in shown}
    middles, width = _columns(why, texts)
    places = {node: (middles[position], y) for node, (position, y) in lines.items()}
    ax = panel_on(ax, (max(4.0, width + 0.9), LINE * (height + 3)))
    for node, text in texts.items():
        x, y = places[node]
        frame = {"boxstyle": "round", "facecolor": "white", "edgecolor": PALE}
        colour = RED if node == explained else INK
        style: dict[str, Any] = {"family": "DejaVu Sans Mono", "parse_math": False, "usetex": False}
        style |= {"ha": "center", "va": "center", "color": colour, "size": LETTERS}
        ax.text(x, y, text, bbox=frame, **style)
        for source, kind in found[node]:
            if source in places:
                _draw_arrow(ax, places[source], places[node], COLOURS[kind])
    _frame(ax, why, {y: node for node, (_, y) in reversed(lines.items())}, middles)
    ax.set(xlim=(0, width), ylim=(height + 0.5, -1))
    more = f"\n{count(left, 'earlier value')} not shown" if left > 0 else ""
    ax.set_title(f"{headline(why)}{more}", loc="left", size=10, parse_math=False)
    return whole(ax)


def _told(why: Explanation, node: Node) -> str:
    value = why.trace.program.write(node.variable, why.value_of(node))
    return f"{shorten(node.variable, LONGEST)} = {shorten(value, LONGEST)}"


def _draw_arrow(
    ax: Axes, start: tuple[float, float], end: tuple[float, float], colour: str
) -> None:
    """A straight arrow, or a bow next to the values between two of one position."""
    bow = 0.25 if start[0] == end[0] and abs(start[1] - end[1]) > 2 else 0
    look = {"arrowstyle": "->", "color": colour, "lw": 0.7, "shrinkA": 7, "shrinkB": 7}
    ax.annotate("", end, start, arrowprops=look | {"connectionstyle": f"arc3,rad={bow}"})


def _lines(why: Explanation, shown: list[Node]) -> tuple[dict[Node, tuple[int, int]], int]:
    """The place of each value: its position, and a line below what comes before."""
    moments: dict[tuple[int, bool], dict[int, list[Node]]] = defaultdict(lambda: defaultdict(list))
    for node in shown:
        moments[node.layer, node.sublayer == "mlp"][node.position].append(node)
    lines: dict[Node, tuple[int, int]] = {}
    line = 0
    for moment in sorted(moments):
        for position, nodes in moments[moment].items():
            lines |= {node: (position, line + n) for n, node in enumerate(nodes)}
        line += max(map(len, moments[moment].values())) + 1
    return lines, line


def _columns(why: Explanation, texts: dict[Node, str]) -> tuple[list[float], float]:
    """The middle of each position's column and the width of all, in inches."""
    widths = [COLUMN] * len(why.trace.tokens)
    for node, text in texts.items():
        widths[node.position] = max(widths[node.position], LETTER * len(text) + 0.16)
    ends = list(accumulate(widths))
    return [end - width / 2 for end, width in zip(ends, widths, strict=True)], ends[-1]


def _frame(ax: Axes, why: Explanation, moments: dict[float, Node], middles: list[float]) -> None:
    """Tokens above the columns, and each moment's name next to its first line."""
    tokens = [shorten(name, LONGEST) for name in token_names(why.trace)]
    ax.set_xticks(middles, [f"{name}\n{p}" for p, name in enumerate(tokens)])
    ax.xaxis.tick_top()
    names = {y: _moment_name(node) for y, node in moments.items()}
    firsts = {name: y for y, name in sorted(names.items(), reverse=True)}
    ax.set_yticks(list(firsts.values()), list(firsts), color=QUIET, size=LETTERS)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)


def _moment_name(node: Node) -> str:
    if node.layer == 0:
        return "start"
    return f"layer {node.layer}\n{'attention' if node.sublayer == 'attention' else 'MLP'}"
