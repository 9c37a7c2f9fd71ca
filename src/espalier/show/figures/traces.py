"""A trace as a figure for print, in the manner of the paper's Figure 3.

A row of the figure is a layer: what the MLP saw on the left, what it left behind on the right (one
above the other where they are wide). Lengths are in inches, from the left and from the top.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure

from espalier.errors import ProgramError
from espalier.interpreter import Trace
from espalier.language import as_integer
from espalier.show.figures.canvas import (
    BLUE,
    INK,
    PALE,
    PALE_BLUE,
    QUIET,
    RED,
    NotebookFigure,
    whole,
)
from espalier.show.text import count, ends, shorten, without_middle
from espalier.show.trace_text import changed, ending, output_names, title, token_names

# Unless layers are chosen, a figure is at most this wide and about this high.
MOST_WIDTH = 11.0
MOST_HEIGHT = 24.0

LINE, CHARACTER, PADDING, MARGIN, GAP, HEADING = 0.24, 0.078, 0.16, 0.25, 0.3, 1.1
LONGEST_NAME, LONGEST_VALUE = 28, 12

LETTERS = 9.0  # their size in points, where nothing is scaled

Point = tuple[float, float]


def draw_trace(
    trace: Trace, *, layers: Iterable[int] | None = None, ax: Axes | None = None
) -> Figure:
    """Variables down, positions across, a table for each sub-layer of `layers`.

    Changed values are blue, bold and underlined; the output variable has a red frame. Without
    `layers` a long trace shows its first and last; a long input shows its first and last tokens.
    """
    grid = _grid(trace)
    shown = _fitting(trace, grid) if layers is None else _checked(trace, layers)
    tables, gaps, height = _arrange(grid, shown)
    sheet = _Sheet(grid.width, height, ax)
    _draw_heading(sheet, trace, grid)
    for place, corner in tables:
        _draw_table(sheet, trace, grid, place=place, corner=corner)
    for missing, y in gaps:
        text = f"… {count(missing, 'layer')} not shown …"
        sheet.write((grid.width / 2, y), text, color=QUIET, style="italic")
    return sheet.finished()


@dataclass(frozen=True)
class _Grid:
    """What all tables of a figure share: the width of every column, and which positions it has."""

    names: list[str]
    tokens: list[str]
    positions: list[int | None]  # None for those left out
    label: float
    cells: list[float]

    @property
    def table(self) -> Point:
        """Width and height of one table, its title and the input included."""
        return self.label + sum(self.cells), LINE * (len(self.names) + 2.2)

    @property
    def columns(self) -> int:
        """How many tables stand side by side."""
        return 2 if 2 * (self.table[0] + MARGIN) + GAP <= MOST_WIDTH else 1

    @property
    def width(self) -> float:
        """The width of the figure, which has room for a heading at least."""
        return max(4.5, self.columns * (self.table[0] + GAP) - GAP) + 2 * MARGIN

    def lefts(self, x: float) -> Iterator[tuple[int | None, float, float]]:
        """Every position with the left edge and the width of its column."""
        x += self.label
        for position, cell in zip(self.positions, self.cells, strict=True):
            yield position, x, cell
            x += cell


def _grid(trace: Trace) -> _Grid:
    names = list(trace.program.specs)
    tokens = [shorten(token, LONGEST_VALUE) for token in token_names(trace)]
    label = (
        max(len(shorten(name, LONGEST_NAME)) for name in [*names, "input"]) * CHARACTER + PADDING
    )
    values = {
        (name, x)
        for moment in trace.moments
        for name, column in moment.columns.items()
        for x in column
    }
    widest = max(len(shorten(trace.program.write(*one), LONGEST_VALUE)) for one in values)
    narrowest = widest * CHARACTER + PADDING
    room = MOST_WIDTH - 2 * MARGIN - label
    for most in range(min(len(tokens), int(room / narrowest)), 0, -1):
        positions: list[int | None] = [*ends(len(tokens), most)]
        if most < len(tokens):
            positions.insert((most + 1) // 2, None)
        lengths = [1 if p is None else max(widest, len(tokens[p])) for p in positions]
        cells = [length * CHARACTER + PADDING for length in lengths]
        if sum(cells) <= room:
            break
    return _Grid(names, tokens, positions, label, cells)


def _checked(trace: Trace, layers: Iterable[int]) -> list[int]:
    chosen = sorted({as_integer(layer, "a layer") for layer in layers})
    if not chosen or chosen[0] < 0 or chosen[-1] > trace.layers:
        raise ProgramError(
            f"layers are {chosen}, but this trace has 0..{trace.layers}; choose one or more of them"
        )
    return chosen


def _fitting(trace: Trace, grid: _Grid) -> list[int]:
    """As many of the first and last layers as there is room for."""
    rows = MOST_HEIGHT / (grid.table[1] + GAP) * grid.columns / 2
    return ends(trace.layers + 1, max(2, int(rows)))


def _arrange(
    grid: _Grid, layers: list[int]
) -> tuple[list[tuple[int, Point]], list[tuple[int, float]], float]:
    """Where each moment's table begins, where how many layers are missing, and the height."""
    wide, high = grid.table
    tables: list[tuple[int, Point]] = []
    gaps: list[tuple[int, float]] = []
    y, expected = HEADING, layers[0]
    for layer in layers:
        if layer > expected:
            gaps.append((layer - expected, y))
            y += GAP
        expected = layer + 1
        x = MARGIN
        for place in range(max(0, 2 * layer - 1), 2 * layer + 1):
            tables.append((place, (x, y)))
            if grid.columns == 2 and place % 2 == 1:
                x += wide + GAP
            else:
                y += high + GAP
    return tables, gaps, y - GAP + MARGIN


def _draw_heading(sheet: _Sheet, trace: Trace, grid: _Grid) -> None:
    """Input, output and ending, and below them what the marks mean."""
    y = MARGIN + LINE / 2
    room = int((grid.width - 2 * MARGIN) / CHARACTER)
    sheet.write((MARGIN, y), _heading(trace, room), ha="left", weight="bold")
    x, y, box = MARGIN, y + 1.4 * LINE, 0.3
    sheet.mark((x, y - LINE / 2), box)
    sheet.write((x + box / 2, y), "1", weight="bold")
    sheet.write((x + box + 0.1, y), "changed", ha="left", color=QUIET)
    x += 1.2
    sheet.frame((x, y - LINE / 2), box)
    sheet.write((x + box + 0.1, y), "output", ha="left", color=QUIET)
    sheet.write((x + 1.15, y), "∅  null", ha="left", color=QUIET)


def _heading(trace: Trace, room: int) -> str:
    """The trace in one line; without the middle of input and output if they are long."""
    tokens, outputs = token_names(trace), output_names(trace)
    for most in range(min(len(tokens), room), 1, -1):
        sides = [" ".join(without_middle(words, most)) for words in (tokens, outputs)]
        text = f"{sides[0]} → {sides[1]}   ({ending(trace)})"
        if len(text) <= room:
            return text
    return f"({ending(trace)})"


def _draw_table(sheet: _Sheet, trace: Trace, grid: _Grid, *, place: int, corner: Point) -> None:
    x, y = corner
    moment, previous = trace.moments[place], trace.moments[place - 1] if place else None
    sheet.write((x, y + LINE / 2), title(moment), ha="left", weight="bold")
    y += 1.2 * LINE
    sheet.write((x + grid.label - 0.1, y + LINE / 2), "input", ha="right", color=QUIET)
    for position, left, cell in grid.lefts(x):
        text = "…" if position is None else grid.tokens[position]
        sheet.write((left + cell / 2, y + LINE / 2), text, color=QUIET)
    for name, column in moment.columns.items():
        y += LINE
        sheet.rule((x, y), grid.table[0])
        if name == trace.program.output_name:
            sheet.frame((x, y), grid.table[0])
        sheet.write((x + grid.label - 0.1, y + LINE / 2), shorten(name, LONGEST_NAME), ha="right")
        for position, left, cell in grid.lefts(x):
            value = None if position is None else column[position]
            new = position is not None and changed(moment, previous, name, position)
            text = (
                "…"
                if position is None
                else shorten(trace.program.write(name, value), LONGEST_VALUE)
            )
            color, weight = (QUIET if value is None else INK), ("bold" if new else "normal")
            sheet.write((left + cell / 2, y + LINE / 2), text, color=color, weight=weight)
            if new:
                sheet.mark((left, y), cell)


class _Sheet:
    """An empty panel. Its marks are gathered and drawn together: one by one is far slower."""

    def __init__(self, width: float, height: float, ax: Axes | None) -> None:
        if ax is None:
            figure = NotebookFigure(figsize=(width, height), facecolor="white")
            ax = figure.add_axes((0, 0, 1, 1))
        else:
            ax.set_aspect("equal")
        ax.set(xlim=(0, width), ylim=(height, 0))
        ax.set_axis_off()
        room, dpi = ax.get_window_extent(), whole(ax).dpi
        self._scale = min(room.width / dpi / width, room.height / dpi / height)
        self._axes = ax
        self._marks: list[list[Point]] = []
        self._underlines: list[list[Point]] = []
        self._rules: list[list[Point]] = []
        self._frames: list[list[Point]] = []

    def write(self, place: Point, text: str, **style: Any) -> None:
        """Plain text, whatever dollar signs and backslashes a name may hold."""
        look = {"ha": "center", "va": "center_baseline", "color": INK, **style}
        font: dict[str, Any] = {"family": "DejaVu Sans Mono", "usetex": False, "parse_math": False}
        self._axes.text(place[0], place[1], text, size=LETTERS * self._scale, **font, **look)

    def mark(self, corner: Point, width: float) -> None:
        """A changed cell: pale blue over a line that stays where colours are lost."""
        x, y = corner
        self._marks.append(_box(corner, width))
        self._underlines.append([(x, y + LINE - 0.03), (x + width, y + LINE - 0.03)])

    def rule(self, corner: Point, width: float) -> None:
        """A thin line above a row."""
        self._rules.append([corner, (corner[0] + width, corner[1])])

    def frame(self, corner: Point, width: float) -> None:
        """The red frame of an output."""
        self._frames.append(_box(corner, width))

    def finished(self) -> Figure:
        """The figure with every mark on it, under the text."""
        wide = self._scale
        for order, drawn in enumerate(
            (
                PolyCollection(self._marks, color=PALE_BLUE, linewidths=0.4 * wide),
                LineCollection(self._rules, colors=PALE, linewidths=0.6 * wide),
                LineCollection(self._underlines, colors=BLUE, linewidths=1.8 * wide),
                PolyCollection(
                    self._frames, facecolors="none", edgecolors=RED, linewidths=1.6 * wide
                ),
            )
        ):
            drawn.set_zorder(1 + order / 10)
            self._axes.add_collection(drawn, autolim=False)
        return whole(self._axes)


def _box(corner: Point, width: float) -> list[Point]:
    x, y = corner
    return [(x, y), (x + width, y), (x + width, y + LINE), (x, y + LINE)]
