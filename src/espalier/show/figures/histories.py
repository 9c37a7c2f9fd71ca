"""The history of a value as a figure: positions across, time downwards, an arrow for each step."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from espalier.interpreter import Explanation
from espalier.interventions import Node
from espalier.programs import Circuit
from espalier.show.explanations import headline
from espalier.show.figures.canvas import BLUE, GREY, INK, PALE, QUIET, RED, panel_on, whole
from espalier.show.text import count, shorten
from espalier.show.trace_text import token_names

LINE, COLUMN = 0.32, 1.25  # inches that a value takes
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
    places, height = _places(why, shown)
    ax = panel_on(ax, (max(4.0, COLUMN * len(why.trace.tokens) + 1), LINE * (height + 3)))
    for node in shown:
        x, y = places[node]
        value = why.trace.program.write(node.variable, why.value_of(node))
        text = f"{shorten(node.variable, LONGEST)} = {shorten(value, LONGEST)}"
        frame = {"boxstyle": "round", "facecolor": "white", "edgecolor": PALE}
        colour = RED if node == explained else INK
        style: dict[str, Any] = {"family": "DejaVu Sans Mono", "parse_math": False, "usetex": False}
        ax.text(x, y, text, ha="center", va="center", color=colour, size=6, bbox=frame, **style)
        for source, kind in found[node]:
            if source in places:
                _draw_arrow(ax, places[source], places[node], COLOURS[kind])
    _frame(ax, why, places, height=height, left=max(0, left))
    return whole(ax)


def _draw_arrow(
    ax: Axes, start: tuple[float, float], end: tuple[float, float], colour: str
) -> None:
    """A straight arrow, or a bow beside the values between two of one position."""
    bow = 0.25 if start[0] == end[0] and abs(start[1] - end[1]) > 2 else 0
    look = {"arrowstyle": "->", "color": colour, "lw": 0.7, "shrinkA": 7, "shrinkB": 7}
    ax.annotate("", end, start, arrowprops=look | {"connectionstyle": f"arc3,rad={bow}"})


def _places(why: Explanation, shown: list[Node]) -> tuple[dict[Node, tuple[float, float]], int]:
    """Where each value stands: its position, and a line below what comes before."""
    moments: dict[tuple[int, bool], dict[int, list[Node]]] = defaultdict(lambda: defaultdict(list))
    for node in shown:
        moments[node.layer, node.sublayer == "mlp"][node.position].append(node)
    places: dict[Node, tuple[float, float]] = {}
    line = 0
    for moment in sorted(moments):
        for position, nodes in moments[moment].items():
            places |= {node: (position, line + n) for n, node in enumerate(nodes)}
        line += max(map(len, moments[moment].values())) + 1
    return places, line


def _frame(
    ax: Axes, why: Explanation, places: dict[Node, tuple[float, float]], *, height: int, left: int
) -> None:
    tokens = [shorten(name, LONGEST) for name in token_names(why.trace)]
    ax.set_xticks(range(len(tokens)), [f"{name}\n{p}" for p, name in enumerate(tokens)])
    ax.xaxis.tick_top()
    names = {y: _moment_name(node) for node, (_, y) in reversed(places.items())}
    firsts = {name: y for y, name in sorted(names.items(), reverse=True)}
    ax.set_yticks(list(firsts.values()), list(firsts), color=QUIET, size=7)
    ax.set(xlim=(-0.7, len(tokens) - 0.3), ylim=(height + 0.5, -1))
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    more = f"\n{count(left, 'earlier value')} not shown" if left else ""
    ax.set_title(f"{headline(why)}{more}", loc="left", size=9, parse_math=False)


def _moment_name(node: Node) -> str:
    if node.layer == 0:
        return "start"
    return f"layer {node.layer}\n{'attention' if node.sublayer == 'attention' else 'MLP'}"


def draw_circuit(found: Circuit, *, ax: Axes | None = None) -> Figure:
    """Heads and rules down, positions across: how many inputs use each there."""
    rows = {kind: row for row, kind in enumerate(dict.fromkeys(key[:2] for key in found.places))}
    names, width = [_component_name(*kind) for kind in rows], max(found.positions) + 1
    counts = np.zeros((len(rows), width))
    for (kind, name, position), inputs in found.places.items():
        counts[rows[kind, name], position] = inputs
    ax = panel_on(ax, (max(4.0, 0.4 * width + 2.5), max(2.0, 0.22 * len(rows) + 1)))
    image = ax.imshow(counts, cmap="Blues", vmin=0, vmax=found.inputs, aspect="auto")
    ax.set_yticks(range(len(names)), names, size=7, parse_math=False)
    ax.set(xlabel="position", title=f"what feeds {found.variable}, by number of inputs")
    whole(ax).colorbar(image, ax=ax)
    return whole(ax)


def _component_name(kind: str, name: str | int) -> str:
    return shorten(f"{kind} {name}".strip(), 2 * LONGEST)
