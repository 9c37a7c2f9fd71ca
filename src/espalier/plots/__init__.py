"""Figures: a value in, a matplotlib figure out. Nothing is shown or saved on the way."""

from espalier.plots.bands import Facets, Look, draw_bands
from espalier.plots.learning import draw_learning
from espalier.plots.pairs import draw_pairs, draw_parts
from espalier.plots.traces import draw_trace, save_figure
from espalier.plots.weights import draw_weights

__all__ = [
    "Facets",
    "Look",
    "draw_bands",
    "draw_learning",
    "draw_pairs",
    "draw_parts",
    "draw_trace",
    "draw_weights",
    "save_figure",
]
