"""Figures: a value in, a matplotlib figure out. Nothing is shown or saved on the way."""

from espalier.plots.traces import draw_trace, save_figure
from espalier.plots.weights import draw_weights

__all__ = ["draw_trace", "draw_weights", "save_figure"]
