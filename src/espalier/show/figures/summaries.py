"""Small figures: a batch of runs, an evaluation, a treebank or a verdict in one panel."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from espalier.show.figures.canvas import BLUE, GREY, INK, RED, panel_on, whole

if TYPE_CHECKING:
    from espalier.data import Treebank
    from espalier.decomposition import Dependence, PairBlock, WordSets
    from espalier.language import Runs
    from espalier.learnability import LocalOptimum
    from espalier.programs import Evaluation

SIZE = (5.2, 3.2)


def draw_runs(runs: Runs, *, ax: Axes | None = None) -> Figure:
    """How many inputs took how many layers."""
    return _draw_counts(runs.layers, ("layers", "inputs"), ax)


def draw_treebank(bank: Treebank, *, ax: Axes | None = None) -> Figure:
    """How many sentences have how many words."""
    return _draw_counts(bank.lengths.tolist(), ("words", "sentences"), ax)


def draw_evaluation(found: Evaluation, *, ax: Axes | None = None) -> Figure:
    """The share of right answers by size."""
    table = found.by_size()
    panel = _panel(ax, "size of the input", "share answered rightly")
    panel.plot(table["size"], table["accuracy"], color=BLUE, marker="o", ms=3.5, lw=1.4)
    panel.set_ylim(-0.02, 1.02)
    return whole(panel)


def draw_optimum(found: LocalOptimum, *, ax: Axes | None = None) -> Figure:
    """For every parameter that is not zero its left and right derivative; red where it offends."""
    table = found.to_frame()
    panel = _panel(ax, "parameter, rule by rule", "derivatives of the loss, left to right")
    places = np.arange(len(table))
    for strict, color, label in ((True, BLUE, "strict minimum"), (False, RED, "offends")):
        some = (table["strict"] == strict).to_numpy()
        if some.any():
            low, high = table["left"][some], table["right"][some]
            panel.vlines(places[some], low, high, color=color, lw=1.4, label=label)
            panel.plot(places[some], high, ".", color=color, ms=4)
    panel.axhline(0, color=GREY, lw=0.8)
    panel.legend(fontsize=8, frameon=False)
    return whole(panel)


def draw_dependence(found: Dependence, *, ax: Axes | None = None) -> Figure:
    """The sizes of what each set contributes, of both together, and of what is no sum."""
    sizes = {
        "a": found.parts[0].relevant[-1],
        "b": found.parts[1].relevant[-1],
        "both": found.parts[2].relevant[-1],
    }
    norms = [float(vector.norm()) for vector in sizes.values()]
    panel = _panel(ax, "", "norm in the hidden state")
    panel.bar([*sizes], norms, color=[INK, INK, BLUE], width=0.6)
    panel.set_title(f"DI = {float(found):.3f} ({found.space})", fontsize=10, loc="left")
    return whole(panel)


def draw_sets(found: WordSets, *, ax: Axes | None = None) -> Figure:
    """The sets that interact most, with their sign."""
    table = found.to_frame()
    most = table.loc[table["index"].abs().sort_values(ascending=False).index[:12]][::-1]
    panel = _panel(ax, "Shapley interaction index, relative", "")
    panel.barh(most["places"] + "  " + most["words"], most["index"], color=BLUE)
    panel.axvline(0, color=GREY, lw=0.8)
    return whole(panel)


def draw_block(block: PairBlock, *, ax: Axes | None = None) -> Figure:
    """Mean DI by the distance of the words."""
    distance = block.right - block.left
    known = ~np.isnan(block.value)
    sums = np.bincount(distance[known], weights=block.value[known])
    pairs = np.bincount(distance[known])
    there = np.flatnonzero(pairs)
    panel = _panel(ax, "sequential distance r - l, words", "mean DI")
    panel.plot(there, sums[there] / pairs[there], color=BLUE, marker="o", ms=3, lw=1.4)
    panel.set_ylim(bottom=0)
    return whole(panel)


def _draw_counts(values: list[int], labels: tuple[str, str], ax: Axes | None) -> Figure:
    counts = Counter(values)
    panel = _panel(ax, *labels)
    panel.bar([*counts], [*counts.values()], color=BLUE, width=0.8)
    panel.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    panel.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    return whole(panel)


def _panel(ax: Axes | None, x: str, y: str) -> Any:
    panel: Any = panel_on(ax, SIZE)
    panel.set_xlabel(x)
    panel.set_ylabel(y)
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(alpha=0.25, lw=0.5)
    return panel
