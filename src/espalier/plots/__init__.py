"""Figures: a value in, a matplotlib figure out. Nothing is shown or saved on the way."""

from espalier.plots.traces import draw_trace, save_figure

__all__ = ["draw_trace", "save_figure"]
