"""Interdependence as a heat map, and the parts of a sentence's states as lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from espalier.show.figures.canvas import BLUE, INK, panel_on, whole
from espalier.show.text import shorten

if TYPE_CHECKING:
    from espalier.decomposition import PairMatrix, Parts

PALE = "#9aa1ad"
CELL, NUMBERED = 0.42, 24  # inches a word; more words than this have no numbers in their cells
LONGEST_WORD = 18


def draw_pairs(pairs: PairMatrix, *, ax: Axes | None = None) -> Figure:
    """The earlier word down, the later across; darker for more, hatched where undefined."""
    words = [shorten(word, LONGEST_WORD) for word in pairs.words]
    count = len(words)
    cell = CELL if count <= NUMBERED else max(0.14, 10.0 / count)
    margin, side = 0.09 * max(map(len, words)), max(cell * count, 1.6)
    panel = panel_on(ax, (side + margin + 1.4, side + margin + 0.9))
    panel.set_facecolor("white")
    largest = float(np.nanmax(pairs.values, initial=0.0)) if count > 1 else 0.0
    image = panel.imshow(pairs.values, cmap="Blues", vmin=0, vmax=largest or 1.0)
    _label(panel, words)
    if count <= NUMBERED:
        _number(panel, pairs.values, largest)
    _hatch(panel, pairs.values)
    bar = whole(panel).colorbar(image, ax=panel, shrink=0.75, pad=0.02)
    bar.outline.set_visible(False)
    space = "hidden state" if pairs.space == "hidden" else "logits"
    panel.set_title(f"{pairs.method.capitalize()} ({space})", fontsize=11, loc="left", color=INK)
    return whole(panel)


def draw_parts(parts: Parts, *, ax: Axes | None = None) -> Figure:
    """The size of each part after every word; the words in focus are marked."""
    frame = parts.to_frame()
    steps = frame["step"]
    panel: Any = panel_on(ax, (max(4.0, 0.5 * len(steps) + 1.6), 3.2))
    for place in parts.focus:
        panel.axvspan(place - 0.5, place + 0.5, color=BLUE, alpha=0.1, lw=0)
    for name, color in (("hidden", PALE), ("irrelevant", INK), ("relevant", BLUE)):
        label = "whole" if name == "hidden" else name
        panel.plot(steps, frame[name], marker="o", ms=3.5, lw=1.6, color=color, label=label)
    words = [shorten(word, LONGEST_WORD) for word in parts.words]
    panel.set_xticks(steps, words, rotation=45, ha="right", parse_math=False)
    panel.set_ylabel("norm of the part")
    panel.set_ylim(bottom=0)
    panel.margins(x=0.02)
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(frameon=False, fontsize=8, ncols=3, loc="lower left", bbox_to_anchor=(0, 1))
    return whole(panel)


def _label(panel: Any, words: list[str]) -> None:
    size = 9 if len(words) <= NUMBERED else 6
    places = range(len(words))
    panel.set_xticks(places, words, rotation=90, fontsize=size, parse_math=False)
    panel.set_yticks(places, words, fontsize=size, parse_math=False)
    panel.tick_params(length=0)
    panel.xaxis.tick_top()  # next to the cells: those below the diagonal are empty
    panel.spines[:].set_visible(False)


def _number(panel: Any, values: np.ndarray[Any, Any], largest: float) -> None:
    for left, right in zip(*np.triu_indices(len(values), 1), strict=True):
        value = values[left, right]
        if not np.isnan(value):
            color = "white" if value > 0.6 * largest else INK
            shown = f"{value:.2f}".removeprefix("0")
            panel.text(right, left, shown, ha="center", va="center", fontsize=7, color=color)


def _hatch(panel: Any, values: np.ndarray[Any, Any]) -> None:
    for left, right in zip(*np.triu_indices(len(values), 1), strict=True):
        if np.isnan(values[left, right]):
            corner = (right - 0.5, left - 0.5)
            panel.add_patch(Rectangle(corner, 1, 1, fill=False, hatch="///", ec=PALE, lw=0))
