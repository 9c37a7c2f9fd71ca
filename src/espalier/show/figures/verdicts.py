"""Claims and the numbers that decide them: one panel per claim, marks say whether it holds."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from espalier.show.figures.canvas import GREY, INK, PAGE, RED, NotebookFigure

if TYPE_CHECKING:
    import pandas

ACROSS = 3


def draw_verdicts(rows: pandas.DataFrame, *, x_label: str = "scaffold length k") -> Figure:
    """`rows` has a row per claim and length: mean, low, high, side, bound, holds, and the words."""
    groups = list(rows.groupby("claim", sort=True))
    down = -(-len(groups) // ACROSS)
    figure = NotebookFigure(figsize=(PAGE, 2.8 * down + 0.4), layout="constrained")
    panels = figure.subplots(down, ACROSS, squeeze=False).flatten()
    for panel, (key, some) in zip(panels, groups, strict=False):
        _draw(panel, some)
        statement = textwrap.fill(f"{key}. {some['statement'].iloc[0]}", 29)
        panel.set_title(statement, fontsize=9, loc="left")
        panel.set_ylabel(textwrap.fill(some["quantity"].iloc[0], 30), fontsize=8)
    for panel in panels[len(groups) :]:
        panel.set_axis_off()
    figure.supxlabel(x_label, fontsize=10)
    figure.legend(
        handles=_handles(), loc="outside upper center", ncols=3, fontsize=9, frameon=False
    )
    return figure


def _draw(panel: Any, rows: pandas.DataFrame) -> None:
    for at, row in enumerate(rows.itertuples()):
        panel.plot([at, at], [row.low, row.high], color=INK, lw=1.6)
        inside = INK if row.holds else GREY if row.low < row.bound < row.high else "white"
        panel.plot(at, row.mean, "o", ms=6, mec=INK, mfc=inside)
    panel.axhline(rows["bound"].iloc[0], color=RED, ls="--", lw=1.2)
    panel.set_xticks(range(len(rows)), [length or "all" for length in rows["length"]])
    panel.set_xlim(-0.5, len(rows) - 0.5)
    panel.tick_params(labelsize=8)
    panel.grid(axis="y", alpha=0.25, lw=0.5)


def _handles() -> list[Line2D]:
    marks: dict[str, Any] = {"ls": "none", "marker": "o", "mec": INK}
    return [
        Line2D([], [], mfc=INK, label="holds", **marks),
        Line2D([], [], mfc="white", label="does not hold", **marks),
        Line2D([], [], mfc=GREY, label="not decided", **marks),
        Line2D([], [], color=INK, lw=1.6, label="95% t interval over seeds"),
        Line2D([], [], color=RED, ls="--", label="bound that all of it must pass"),
    ]
