"""What all figures share: colours, and a place to draw on, a new one or the caller's.

Figures are made without pyplot: nothing is shown on the way, and nothing stays in memory.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import Patch

from espalier.errors import ConfigError

INK, QUIET, GREY, PALE = "#1b1f27", "#6b7280", "#7a7f8a", "#d4d7dd"
BLUE, PALE_BLUE, RED, AMBER = "#1f62d0", "#cfe0fb", "#d02f2f", "#d08a1f"
PAGE = 8.6  # inches; shown 700 pixels wide, letters of 8 points are 9 pixels high


class NotebookFigure(Figure):
    """A figure that a notebook shows, also where pyplot was not imported."""

    def _repr_png_(self) -> bytes:
        held = io.BytesIO()
        self.savefig(held, format="png")
        return held.getvalue()


@dataclass(frozen=True)
class Look:
    """How one curve is drawn; dash and marker distinguish curves where colours are lost."""

    color: str
    dash: str
    marker: str
    name: str = ""


def panel_on(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The panel to draw on: `ax`, or the only one of a new figure of that size in inches."""
    if ax is not None:
        return ax
    panel: Axes = NotebookFigure(figsize=size, layout="constrained").subplots()
    return panel


def place_on(ax: Axes | None, size: tuple[float, float]) -> Figure | SubFigure:
    """Where several panels can stand: a new figure, or the place that `ax` has in its own."""
    if ax is None:
        return NotebookFigure(figsize=size, layout="constrained")
    spec = ax.get_subplotspec()
    if spec is None:
        raise ConfigError(
            "this figure has several panels and takes the place of an ax in a grid; give one that "
            "was made by subplots"
        )
    ax.set_axis_off()
    place: Any = ax.figure
    part: SubFigure = place.add_subfigure(spec)
    return part


def whole(place: Axes | Figure | SubFigure) -> Figure:
    """The figure that a panel, or a place for several, belongs to."""
    found: Any = place.figure
    figure: Figure = found.figure  # of a part of a figure, that figure
    return figure


def page_width(columns: int) -> float:
    """Of panels side by side, in inches: a page's, or wider if there are very many."""
    return max(min(2.35 * columns + 1.0, PAGE), 1.3 * columns + 1.0)


def draw_line(panel: Any, table: Any, x: str, look: Look, **style: Any) -> None:
    """Means as a line and [low, high] as a band."""
    some = table.sort_values(x)
    how = {"color": look.color, "ls": look.dash, "marker": look.marker, "lw": 1.4, "ms": 3.5}
    panel.plot(some[x], some["mean"], **{"label": look.name, **how, **style})
    panel.fill_between(some[x], some["low"], some["high"], color=look.color, alpha=0.18, lw=0)


def take_away(panels: Any, *, after: int, across: int) -> None:
    """Only so many panels of a grid; those above an empty place number their axis themselves."""
    for panel in panels[after:]:
        panel.set_axis_off()
    for panel in panels[max(0, after - across) : after]:
        panel.tick_params(labelbottom=True)


def legend_above(figure: Any, panel: Any, table: Any, *, columns: int) -> None:
    """What the lines of a panel are, and its bands where `table` has a number of seeds.

    In fewer columns where the figure is too narrow for as many.
    """
    handles, names = panel.get_legend_handles_labels()
    if "seeds" in table and (table["high"] > table["low"]).any():
        handles.append(Patch(color=GREY, alpha=0.3, lw=0))
        names.append("95% t interval over seeds")
    style: Any = {"loc": "outside upper center", "fontsize": 9, "frameon": False}
    for fewer in range(columns if names else 0, 0, -1):
        legend = figure.legend(handles, names, ncols=fewer, **style)
        if fewer == 1 or legend.get_window_extent().width <= figure.bbox.width:
            break
        legend.remove()


def svg(figure: Figure) -> str:
    """A figure as an inline SVG element."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg")
    text = buffer.getvalue()
    return re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
