"""Curves with intervals in a grid of panels: a table of means in, a figure out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, StrMethodFormatter

from espalier.show.figures.canvas import (
    INK,
    RED,
    Look,
    draw_line,
    legend_above,
    page_width,
    place_on,
    whole,
)
from espalier.show.figures.logarithmic import above_zero, number_within_a_decade

if TYPE_CHECKING:
    import pandas


SETTINGS: Mapping[str, Look] = {
    "unfamiliar": Look(INK, "-", "o"),
    "familiar": Look(RED, "--", "s"),
}


@dataclass(frozen=True)
class Facets:
    """Which column of a table is what in the figure, and its labels.

    `down` may be None: one row of panels. `titles` and `sides` are patterns or words by value for
    the columns and the rows of panels, `height` is a panel's in inches. `x_label` is below all
    columns, `x_labels` by value below each. `columns` are those that come first; others follow in
    order. A look whose name begins with _ has no line in the legend.
    """

    x: str
    line: str
    across: str
    down: str | None = None
    x_label: str = ""
    x_labels: Mapping[str, str] = field(default_factory=dict)
    titles: str | Mapping[str, str] = "{}"
    sides: Mapping[str, str] = field(default_factory=dict)
    side: str = ""
    looks: Mapping[str, Look] = field(default_factory=lambda: SETTINGS)
    limits: tuple[float, float] | None = None
    logarithmic: bool = False
    legend_columns: int = 4
    height: float = 1.95
    columns: tuple[object, ...] = ()


def draw_bands(table: pandas.DataFrame, facets: Facets, *, ax: Axes | None = None) -> Figure:
    """Means as lines and [low, high] as bands; `table` has the facets' columns, mean, low, high."""
    shown = set(table[facets.line])
    looks = {value: look for value, look in facets.looks.items() if value in shown}
    facets = replace(facets, looks=looks)
    order = {column: n for n, column in enumerate(facets.columns)}
    columns = sorted(
        table[facets.across].unique().tolist(), key=lambda one: (order.get(one, len(order)), one)
    )
    rows: list[Any] = [None]
    if facets.down is not None:  # in the order in which they are named
        rows = [value for value in facets.sides if value in set(table[facets.down])]
    size = (page_width(len(columns)), facets.height * len(rows) + 0.95)
    figure = place_on(ax, size)
    panels: Any = figure.subplots(
        len(rows), len(columns), sharex="col", sharey="row", squeeze=False
    )
    for down, row in enumerate(rows):
        some = table if row is None else table[table[facets.down] == row]
        some = above_zero(some) if facets.logarithmic else some
        for across, column in enumerate(columns):
            _draw(panels[down][across], some[some[facets.across] == column], facets)
            if down == 0:
                panels[down][across].set_title(_title(facets.titles, column), fontsize=10)
        if facets.limits or not facets.logarithmic:  # panels of a row share their axis
            panels[down][0].set_ylim(*(facets.limits or (0, 1.05 * some["high"].max())))
        if facets.logarithmic:
            number_within_a_decade(panels[down][0])
        panels[down][0].set_ylabel(facets.side if row is None else facets.sides[row], fontsize=9)
    for panel, column in zip(panels[-1], columns, strict=True):
        panel.set_xlabel(facets.x_labels.get(column, ""), fontsize=9)
    figure.supxlabel(facets.x_label, fontsize=10)
    legend_above(figure, panels[0][0], table, columns=facets.legend_columns)
    return whole(figure)


def _title(titles: str | Mapping[str, str], column: Any) -> str:
    if isinstance(titles, str):
        return titles.format(f"{column:,}" if type(column) is int else column)
    return titles.get(column, str(column))


def _draw(panel: Any, table: pandas.DataFrame, facets: Facets) -> None:
    if table.empty:  # a grid may have places for what was not measured
        panel.text(0.5, 0.5, "no rows", transform=panel.transAxes, ha="center", fontsize=9)
    for value, look in facets.looks.items():
        some = table[table[facets.line] == value]
        every = len(some) // 8 | 1  # odd: a curve that swings is marked above and below
        label = look.name or str(value)
        draw_line(panel, some, facets.x, look, lw=1.5, markevery=every, label=label)
    most = 5 if table[facets.x].max() < 10_000 else 3  # long numbers would touch
    panel.xaxis.set_major_locator(MaxNLocator(most, integer=True))
    panel.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    panel.tick_params(labelsize=8)
    panel.grid(alpha=0.25, lw=0.5)
    if facets.logarithmic:
        panel.set_yscale("log")
        panel.yaxis.set_major_locator(LogLocator(numticks=9))
