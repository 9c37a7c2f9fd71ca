"""ALTA, Table 2: how far MLPs trained on traces generalise, by program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from espalier.experiments.alta_figure_4 import PROGRAMS, Config
from espalier.experiments.strings import both_ways, slices, traced_cells
from espalier.runs import Row

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from espalier.experiments.shelf import Shelf
    from espalier.show.figures import Look

__all__ = ["Config", "draw", "measure", "run", "tabulate"]


def measure(config: Config, shelf: Shelf) -> list[Row]:
    """One row a program, seed, length and number of ones."""
    return shelf.gather(traced_cells, config.traced)


def run(config: Config, shelf: Shelf) -> pandas.DataFrame:
    """The rows as a table."""
    import pandas as pd

    return pd.DataFrame(measure(config, shelf))


def tabulate(rows: pandas.DataFrame) -> pandas.DataFrame:
    """The paper's table."""
    return slices(rows, ["program"])


def draw(rows: pandas.DataFrame) -> Figure:
    """All programs in one panel, by length and by number of ones."""
    from espalier.show.figures import Facets, draw_bands

    facets = Facets(
        x="x",
        line="program",
        across="axis",
        titles="by {}",
        side="accuracy",
        looks=looks(),
        limits=(-0.02, 1.05),
    )
    return draw_bands(both_ways(rows, ["program"]), facets)


def looks() -> dict[str, Look]:
    """How each program's curve is drawn."""
    from espalier.show.figures import Look

    styles = (("#1b1f27", "-", "o"), ("#1f6fb4", "--", "s"), ("#d02f2f", ":", "^"))
    pairs = zip(PROGRAMS.items(), styles, strict=True)
    return {name: Look(*style, title) for (name, title), style in pairs}
