"""A circuit over many inputs as a figure: which heads and rules are used, and where."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from espalier.programs import Circuit
from espalier.show.figures.canvas import panel_on, whole
from espalier.show.text import shorten

LONGEST = 28


def draw_circuit(found: Circuit, *, ax: Axes | None = None) -> Figure:
    """Heads and rules down, positions across: how many inputs use each there."""
    rows = {kind: row for row, kind in enumerate(dict.fromkeys(key[:2] for key in found.places))}
    names, width = [_component_name(*kind) for kind in rows], max(found.positions) + 1
    counts = np.zeros((len(rows), width))
    for (kind, name, position), inputs in found.places.items():
        counts[rows[kind, name], position] = inputs
    ax = panel_on(ax, (max(4.0, 0.4 * width + 2.5), max(2.0, 0.22 * len(rows) + 1)))
    image = ax.imshow(counts, cmap="Blues", vmin=0, vmax=found.inputs, aspect="auto")
    ax.set_yticks(range(len(names)), names, size=7, parse_math=False)
    ax.set(xlabel="position", title=f"what feeds {found.variable}, by number of inputs")
    whole(ax).colorbar(image, ax=ax)
    return whole(ax)


def _component_name(kind: str, name: str | int) -> str:
    return shorten(f"{kind} {name}".strip(), LONGEST)
