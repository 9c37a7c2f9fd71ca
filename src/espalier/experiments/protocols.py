"""The authors' protocol against the papers' text: which difference reverses a verdict?

Two things differ. The authors' generator overwrites rules (`ScaffoldConfig.layout`), and their
scripts read one step later, after the close symbol (`reading`). Also, their script for gradients
differentiates the loss of every step, and Figure 12's caption has the loss of each step separately.
Figures 7, 9 and 12 are measured with every combination; the models are two ensembles, since a
reading trains nothing. Claims and bounds are those of `claims` and `further_claims`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from espalier.data import Layout
from espalier.experiments.cache import RunCache
from espalier.experiments.claims import claims
from espalier.experiments.experiment import Experiment, Row, Scale
from espalier.experiments.further_claims import further_claims
from espalier.experiments.intervals import summarise
from espalier.experiments.scaffold_claims import decide, verdict
from espalier.experiments.scaffold_figures import CLOSE, GRADIENTS, GROWING, draw
from espalier.experiments.scaffold_rows import Gradients, GrowingFocus, OverEpochs
from espalier.training import LossReading

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

LAYOUTS: tuple[Layout, ...] = ("apart", "overwriting")
READINGS: tuple[LossReading, ...] = ("before close", "after close")
CHANGES = {  # what a combination changes relative to the papers' text
    "overwriting": "generator",
    "after close": "reading",
    "every step": "loss of every step",
    "own step": "each step's own loss",
}
PLACE = "d, place in the rule (0: open symbol)"
Settings = OverEpochs | GrowingFocus | Gradients
Cell = tuple[Layout, LossReading]


@dataclass(frozen=True)
class Protocols:
    """A figure's settings on corpora of both layouts, or of one, and the readings of each."""

    apart: Settings | None
    overwriting: Settings | None
    readings: tuple[LossReading, ...]

    @classmethod
    def at(
        cls, scale: Scale, *, figure: Experiment, readings: tuple[LossReading, ...] = READINGS
    ) -> Protocols:
        """The preset of a scale."""
        usual: Settings = figure.config(scale)
        corpus = replace(usual.models.corpus, layout="overwriting")
        theirs = replace(usual, models=replace(usual.models, corpus=corpus))
        return cls(usual, theirs, readings)

    @property
    def cells(self) -> list[Cell]:
        """What is measured: every reading of every layout."""
        layouts = [layout for layout in LAYOUTS if getattr(self, layout) is not None]
        return [(layout, reading) for layout in layouts for reading in self.readings]

    def narrowed(self, cells: Sequence[Cell]) -> Protocols:
        """The layouts and the readings of these cells alone."""
        layouts = {layout for layout, _ in cells}
        kept = {layout: getattr(self, layout) if layout in layouts else None for layout in LAYOUTS}
        return Protocols(**kept, readings=tuple(dict.fromkeys(reading for _, reading in cells)))


def measure(config: Protocols, cache: RunCache, *, figure: Experiment) -> list[Row]:
    """The figure's rows, each with its layout and its reading."""
    return [
        {"layout": layout, "reading": reading} | row
        for layout, reading in config.cells
        for row in cache.rows(figure.measure, replace(getattr(config, layout), reading=reading))
    ]


def decided(rows: pandas.DataFrame, *, number: int, keys: str) -> pandas.DataFrame:
    """One row per claim, layout, reading and scaffold length: the number, and whether it holds."""
    import pandas as pd

    chosen = [one for one in (*claims(), *further_claims()) if one.key in keys.split()]
    found = []
    for (layout, reading), some in rows.groupby(["layout", "reading"], sort=False):
        cell = decide({number: some}, chance=float("nan"), chosen=chosen)
        found.append(cell.assign(layout=layout, reading=reading))
    return pd.concat(found)


def turned_by(cells: pandas.DataFrame) -> str:
    """The fewest changes with which a claim holds at one length; several if each alone suffices."""
    held = [
        frozenset(CHANGES[word] for word in (row.layout, row.reading) if word in CHANGES)
        for row in cells[cells["holds"]].itertuples()
    ]
    least = [one for one in held if not any(other < one for other in held)]
    words = [" and ".join(sorted(one)) or "holds anyway" for one in least]
    return " or ".join(sorted(words)) or "none"


def tabulate(rows: pandas.DataFrame, *, number: int, keys: str) -> pandas.DataFrame:
    """One row per claim, layout and reading: its verdict, its numbers, and what reverses it."""
    import pandas as pd

    table = decided(rows, number=number, keys=keys)
    found = []
    for key, claim in table.groupby("claim", sort=True):
        turned = {length: turned_by(cells) for length, cells in claim.groupby("length")}
        words = "; ".join(
            f"{word} (k = {', '.join(str(k) for k in turned if turned[k] == word)})"
            for word in dict.fromkeys(turned.values())
        )
        for (layout, reading), some in claim.groupby(["layout", "reading"], sort=False):
            numbers = {
                f"k = {row.length}": f"{row.mean:.3g} [{row.low:.3g}, {row.high:.3g}]"
                for row in some.itertuples()
            }
            holds_if = f"{some['side'].iloc[0]} {some['bound'].iloc[0]:.3g}"
            about = {"claim": key, "statement": some["statement"].iloc[0]}
            about |= {"layout": layout, "reading": reading, "verdict": verdict(some)}
            found.append(about | {"holds if": holds_if} | numbers | {"turned by": words})
    return pd.DataFrame(found)


def draw_probabilities(rows: pandas.DataFrame, *, x: str, last: bool, **facets: Any) -> Figure:
    """One column per layout and reading: the longest scaffold, after the last epoch or over all."""
    shown = rows[rows["epoch"] == rows["epoch"].max()] if last else rows
    table, words = of_cells(shown, "probability", by=["domain", "setting", x])
    grid = {"x": x, "line": "setting", "across": "cell", "down": "domain", "titles": words}
    return draw(table, limits=(-0.02, 1.02), **grid, **facets)


def draw_gradients(rows: pandas.DataFrame) -> Figure:
    """One row per layout and reading, too many to fit side by side on a page."""
    table, words = of_cells(rows, "l2", by=["kind", "setting", "place"])
    grid: dict[str, Any] = {"x": "place", "line": "setting", "across": "kind", "down": "cell"}
    limits = (table["mean"].min() / 2, table["high"].max() * 1.2)  # one scale for all
    look: dict[str, Any] = {"sides": words, "limits": limits, "logarithmic": True, "height": 1.6}
    return draw(table, x_label=PLACE, titles="{}, L2 norm", **grid, **look)


def of_cells(
    rows: pandas.DataFrame, value: str, *, by: list[str]
) -> tuple[pandas.DataFrame, dict[str, str]]:
    """Means at the longest scaffold by layout and reading, the `cell`, and every cell's words."""
    longest = rows[rows["length"] == rows["length"].max()]
    cells = longest.assign(cell=longest["layout"] + "\n" + longest["reading"])
    words = {cell: "layout: {}\nreading: {}".format(*cell.split("\n")) for cell in cells["cell"]}
    return summarise(cells, value, by=["cell", *by]), words


def _experiment(
    figure: Experiment,
    *,
    number: int,
    keys: str,
    drawn: Callable[[pandas.DataFrame], Figure],
    readings: tuple[LossReading, ...] = READINGS,
) -> Experiment:
    return Experiment(
        f"{figure.summary}: the authors' generator and reading",
        partial(Protocols.at, figure=figure, readings=readings),
        partial(measure, figure=figure),
        partial(tabulate, number=number, keys=keys),
        drawn,
    )


_DOMAINS = {"in_domain": "{}\nscaffolds of training", "out_of_domain": "{}\nrandom scaffolds"}

EXPERIMENTS = {
    "bottom-up-figure-7-protocols": _experiment(
        CLOSE,
        number=7,
        keys="1 2 6a 6b",
        drawn=partial(
            draw_probabilities,
            x="epoch",
            last=False,
            x_label="epoch",
            sides={name: words.format("P(close)") for name, words in _DOMAINS.items()},
        ),
    ),
    "bottom-up-figure-9-protocols": _experiment(
        GROWING,
        number=9,
        keys="7a 7b 7c",
        drawn=partial(
            draw_probabilities,
            x="in_focus",
            last=True,
            x_label="i, scaffold tokens in focus",
            sides={name: words.format("P(close | open + i)") for name, words in _DOMAINS.items()},
        ),
    ),
    "bottom-up-figure-12-protocols": _experiment(
        GRADIENTS,
        number=12,
        keys="5a 5b 5c",
        readings=(*READINGS, "every step", "own step"),
        drawn=draw_gradients,
    ),
}
