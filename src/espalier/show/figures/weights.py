"""The MLP of a compiled program as a picture: which rule reads and writes what (A.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure

from espalier.errors import ProgramError
from espalier.show.figures.canvas import place_on, whole

if TYPE_CHECKING:
    from espalier.compiler import CompiledModel

# More rules or dimensions than this cannot be labelled legibly.
MOST = 64


def draw_weights(model: CompiledModel, *, ax: Axes | None = None) -> Figure:
    """W1, b1 and W2 side by side, one row per rule, with every number that is not zero written in.

    Those of a realistic network are drawn by meanings: as they read and write its directions.
    """
    weights, basis = model.weights.feedforward, model.layout.basis
    first, second = weights.w1.dense().double().numpy(), weights.w2.dense().double().numpy().T
    if basis is not None:
        width = model.layout.stream_width
        read, held = first[:, :width] @ basis.directions.numpy().T, basis.readout.numpy()
        first = np.round(np.concatenate([read, first[:, width:]], 1), 6)
        second = np.round(second @ held, 6)
    units, columns = first.shape
    if max(units, columns) > MOST:
        raise ProgramError(
            f"the MLP has {units} units and reads {columns} features; a picture of its weights is "
            f"legible up to {MOST}"
        )
    bias = weights.b1.double().numpy()[:, None]
    labels = model.unit_labels
    cell, names = 0.34, 0.085 * max(map(len, labels))
    width = names + cell * (columns + second.shape[1] + 4)
    figure = place_on(ax, (width + 0.4, cell * units + 2.4))
    panels = figure.subplots(
        1, 3, width_ratios=[columns, 1.2, second.shape[1]], sharey=True, squeeze=True
    )
    _draw(panels[0], first, model.layout.feature_labels, "W1: what a rule needs")
    _draw(panels[1], bias, ["bias"], "b1")
    _draw(panels[2], second, model.labels, "W2: what it takes out and puts in")
    panels[0].set_yticks(range(units), labels, fontsize=8)
    figure.suptitle("One hidden unit a rule (Appendix B, eq. 8-10)", fontsize=11)
    return whole(figure)


def _draw(panel: Any, matrix: np.ndarray[Any, Any], labels: list[str], title: str) -> None:
    limit = max(1.0, float(np.abs(matrix).max(initial=0)))
    panel.imshow(matrix, cmap="RdBu", norm=TwoSlopeNorm(0, -limit, limit), aspect="auto")
    for row, column in zip(*np.nonzero(matrix), strict=True):
        value = matrix[row, column]
        panel.text(
            column,
            row,
            f"{value:.3g}",
            ha="center",
            va="center",
            fontsize=8,
            color="white" if abs(value) > limit / 2 else "black",
        )
    panel.set_xticks(range(len(labels)), labels, rotation=90, fontsize=8)
    panel.set_title(title, fontsize=9)
    panel.set_xticks(np.arange(-0.5, matrix.shape[1]), minor=True)
    panel.set_yticks(np.arange(-0.5, matrix.shape[0]), minor=True)
    panel.grid(which="minor", color="0.85", linewidth=0.5)
    panel.tick_params(which="both", length=0)
