"""Interdependence and syntax: means by distance and stratum, effects, and trees compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from espalier.show.figures.canvas import (
    AMBER,
    BLUE,
    GREY,
    INK,
    RED,
    Look,
    NotebookFigure,
    draw_line,
    take_away,
)

if TYPE_CHECKING:
    import pandas

CLASSES: Mapping[str, Look] = {
    "open": Look(BLUE, "-", "o", "both words open-class"),
    "mixed": Look(GREY, "-.", "^", "one of each"),
    "closed": Look(RED, "--", "s", "both closed-class"),
}
LINES: Mapping[str, Look] = {
    "hidden": Look(INK, "-", "o", "hidden states"),
    "logits": Look(AMBER, "--", "s", "logits"),
    "left": Look(BLUE, "-", "o", "left-branching"),
    "right": Look(RED, "--", "s", "right-branching"),
}
COLUMNS = 4  # panels in a row: more are not legible on a page


def draw_distances(rows: pandas.DataFrame) -> Figure:
    """Mean DI by sequential distance, one line per space."""
    figure = NotebookFigure(figsize=(5.4, 3.6), layout="constrained")
    panel = figure.subplots()
    for space, some in rows.groupby("space"):
        draw_line(panel, some, "distance", LINES[str(space)])
    panel.set_xlabel("sequential distance r - l, words")
    panel.set_ylabel("mean DI")
    panel.set_ylim(bottom=0)
    _finish(panel)
    panel.legend(fontsize=9, frameon=False)
    return figure


def draw_strata(rows: pandas.DataFrame, label: str) -> Figure:
    """Mean DI by tree distance: one panel per sequential distance, one line per class."""
    distances = sorted(rows["distance"].unique())
    down = -(-len(distances) // COLUMNS)
    across = min(COLUMNS, len(distances))
    figure = NotebookFigure(figsize=(1.95 * across + 0.8, 2.1 * down + 0.9), layout="constrained")
    panels = figure.subplots(down, across, sharex=True, squeeze=False).flatten()
    for panel, distance in zip(panels, distances, strict=False):
        here = rows[rows["distance"] == distance]
        for kind, look in CLASSES.items():
            draw_line(panel, here[here["class"] == kind], "tree", look)
        panel.set_title(f"{distance} {'word' if distance == 1 else 'words'} apart", fontsize=10)
        _finish(panel)
    take_away(panels, after=len(distances), across=across)
    figure.supxlabel("distance in the tree, edges", fontsize=10)
    figure.supylabel(label, fontsize=10)
    _legend(figure)
    return figure


def draw_effects(rows: pandas.DataFrame) -> Figure:
    """The effect of an edge on log DI at each sequential distance; all together at the left.

    Markers are hollow where frequency is not `held`.
    """
    figure = NotebookFigure(figsize=(6.4, 3.8), layout="constrained")
    panel = figure.subplots()
    lines = rows.groupby(["held", "space"])
    for shift, ((held, space), some) in zip((0.08, 0.24, -0.24, -0.08), lines, strict=False):
        look = LINES[str(space)]
        spread = [some["estimate"] - some["low"], some["high"] - some["estimate"]]
        style: Any = {"fmt": look.marker, "color": look.color, "ms": 4.5, "capsize": 2}
        style |= {"mfc": look.color if held else "white", "lw": 1.2}
        label = look.name if held else f"{look.name}, frequency not held"
        panel.errorbar(some["distance"] + shift, some["estimate"], spread, label=label, **style)
    panel.axhline(0, color=GREY, lw=0.8)
    ticks = sorted(rows["distance"].unique())
    panel.set_xticks(ticks, ["all" if tick == 0 else f"{tick}" for tick in ticks])
    panel.set_xlabel("sequential distance, words")
    panel.set_ylabel("change of log DI per edge of the tree")
    panel.grid(alpha=0.25, lw=0.5)
    panel.legend(fontsize=9, frameon=False)
    return figure


def draw_over_training(rows: pandas.DataFrame, measures: Mapping[str, str]) -> Figure:
    """One panel per measure over epochs, one line per `space`; the beginning is stretched."""
    figure = NotebookFigure(figsize=(4.3 * len(measures), 3.5), layout="constrained")
    panels: Any = figure.subplots(1, len(measures), squeeze=False)[0]
    for panel, (measure, label) in zip(panels, measures.items(), strict=True):
        some = rows[rows["measure"] == measure].rename(columns={"value": "mean"})
        for space, line in some.groupby("space"):
            draw_line(panel, line, "epoch", LINES[str(space)])
        panel.set_xscale("symlog", linthresh=0.1)
        panel.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        panel.set_xlabel("epoch")
        panel.set_ylabel(label)
        panel.tick_params(labelsize=8)
        panel.grid(alpha=0.25, lw=0.5)
        if measure == "effect":
            panel.axhline(0, color=GREY, lw=0.8)
    panels[0].legend(fontsize=9, frameon=False)
    return figure


def draw_probe(table: pandas.DataFrame) -> Figure:
    """UUAS of every tree, the best at the top."""
    figure = NotebookFigure(figsize=(7.2, 0.3 * len(table) + 1.0), layout="constrained")
    panel = figure.subplots()
    colors = {"none": GREY, "untrained": AMBER, "transformer": AMBER}
    rows = list(table.sort_values("uuas").itertuples())
    for place, row in enumerate(rows):
        spread = [[row.uuas - row.low], [row.high - row.uuas]]
        panel.barh(place, row.uuas, color=colors.get(row.model, BLUE), alpha=0.85, height=0.7)
        panel.errorbar(row.uuas, place, xerr=spread, color=INK, capsize=2, lw=1)
    names = [_probe_name(row) for row in rows]
    panel.set_yticks(range(len(rows)), names, fontsize=8)
    panel.set_xlabel("UUAS, punctuation left out")
    panel.grid(axis="x", alpha=0.25, lw=0.5)
    return figure


def _probe_name(row: Any) -> str:
    if row.model == "none":
        return str(row.weights)
    how = [row.weights, row.space, row.shape]
    return f"{row.model}: {', '.join(filter(None, how))}"


def _finish(panel: Any) -> None:
    panel.xaxis.set_major_locator(MaxNLocator(6, integer=True, steps=[1, 2, 5, 10]))
    panel.tick_params(labelsize=8)
    panel.grid(alpha=0.25, lw=0.5)


def _legend(figure: Figure) -> None:
    handles = [
        Line2D([], [], color=look.color, ls=look.dash, marker=look.marker, ms=4, label=look.name)
        for look in CLASSES.values()
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=3, fontsize=9, frameon=False)
