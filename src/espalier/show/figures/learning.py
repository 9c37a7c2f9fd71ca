"""How models learn: every measure of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from espalier.runs import averages, latest
from espalier.show.figures.canvas import BLUE, Look, draw_line, place_on, take_away, whole

if TYPE_CHECKING:
    from espalier.training import TrainedRun

ACROSS = 4  # panels in a row


def draw_training(run: TrainedRun, *, ax: Axes | None = None) -> Figure:
    """One panel per measure; mean over the models trained, the band from the least to the most."""
    rows, measures = run.to_frame(), list(averages(latest(run.rows)))
    x = "epoch" if "epoch" in rows else "step"
    across = max(1, min(ACROSS, len(measures)))
    down = -(-len(measures) // across) or 1
    figure = place_on(ax, (2.05 * across + 0.4, 2.3 * down + 0.4))
    panels: Any = figure.subplots(down, across, sharex=True, squeeze=False).flatten()
    for panel, measure in zip(panels, measures, strict=False):
        table = rows.groupby(x, as_index=False)[measure].agg(["mean", "min", "max"])
        table = table.rename(columns={"min": "low", "max": "high"})
        draw_line(panel, table, x, Look(BLUE, "-", "o"), markevery=len(table) // 8 | 1)
        panel.set_title(measure.replace("_", " "), fontsize=10)
        panel.tick_params(labelsize=8)
        panel.grid(alpha=0.25, lw=0.5)
    take_away(panels, after=len(measures), across=across)
    figure.supxlabel(x, fontsize=10)
    return whole(figure)
