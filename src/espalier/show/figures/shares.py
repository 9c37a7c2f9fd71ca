"""Shares between 0 and 1 over a logarithmic axis: a panel per item, a curve per kind of share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from espalier.show.figures.canvas import (
    INK,
    RED,
    Look,
    NotebookFigure,
    draw_line,
    legend_above,
    take_away,
)

if TYPE_CHECKING:
    import pandas

ACROSS = 4  # panels in a row: more are not legible on a page


def draw_shares(table: pandas.DataFrame, *, x: str, panel: str, line: str) -> Figure:
    """Means as lines and [low, high] as bands; `table` has these columns, mean, low and high."""
    groups = list(table.groupby(panel, sort=True))
    across = min(ACROSS, len(groups))
    down = -(-len(groups) // across)
    figure = NotebookFigure(figsize=(2.0 * across + 0.6, 1.9 * down + 0.9), layout="constrained")
    panels = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).flatten()
    looks = zip(sorted(table[line].unique()), ((INK, "-", "o"), (RED, "--", "s")), strict=False)
    named = {name: Look(*look, name=name) for name, look in looks}
    for place, (title, some) in zip(panels, groups, strict=False):
        for name, look in named.items():
            draw_line(place, some[some[line] == name], x, look)
        place.set_title(title, fontsize=9)
        place.set_xscale("log")
        place.set_ylim(-0.03, 1.05)
        place.grid(alpha=0.25, lw=0.5)
        place.tick_params(labelsize=8)
    take_away(panels, after=len(groups), across=across)
    figure.supxlabel(f"{x} in the training set", fontsize=10)
    figure.supylabel("share", fontsize=10)
    legend_above(figure, panels[0], table, columns=3)
    return figure
