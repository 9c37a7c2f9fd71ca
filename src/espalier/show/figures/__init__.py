"""Figures: a value in, a matplotlib figure out, on the caller's `ax` where one is given."""

from espalier.show.figures.bands import Facets, draw_bands
from espalier.show.figures.canvas import Look, svg
from espalier.show.figures.circuits import draw_circuit
from espalier.show.figures.histories import draw_history
from espalier.show.figures.learning import draw_training
from espalier.show.figures.pairs import draw_pairs, draw_parts
from espalier.show.figures.shares import draw_shares
from espalier.show.figures.strata import (
    draw_distances,
    draw_effects,
    draw_over_training,
    draw_probe,
    draw_strata,
)
from espalier.show.figures.summaries import (
    draw_block,
    draw_dependence,
    draw_evaluation,
    draw_optimum,
    draw_runs,
    draw_sets,
    draw_treebank,
)
from espalier.show.figures.traces import draw_trace
from espalier.show.figures.verdicts import draw_verdicts
from espalier.show.figures.weights import draw_weights

__all__ = [
    "Facets",
    "Look",
    "draw_bands",
    "draw_block",
    "draw_circuit",
    "draw_dependence",
    "draw_distances",
    "draw_effects",
    "draw_evaluation",
    "draw_history",
    "draw_optimum",
    "draw_over_training",
    "draw_pairs",
    "draw_parts",
    "draw_probe",
    "draw_runs",
    "draw_sets",
    "draw_shares",
    "draw_strata",
    "draw_trace",
    "draw_training",
    "draw_treebank",
    "draw_verdicts",
    "draw_weights",
    "svg",
]
