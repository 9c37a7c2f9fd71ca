"""ALTA, Figure 4: what a program's minimal version does, its MLP does when trained on traces.

For each of the three parity programs: the compiled program, the program compiled from its minimal
version for the training strings, and the program with an MLP trained on their traces.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from espalier.experiments.learners import Traced, traced
from espalier.experiments.models import Scale
from espalier.experiments.strings import both_ways, compiled_cells, slices, traced_cells
from espalier.runs import Row

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from espalier.experiments.shelf import Shelf

PROGRAMS = {
    "sequential-relative": "Sequential (Relative)",
    "sequential-absolute": "Sequential (Absolute)",
    "sum-modulo": "Sum + Modulo",
}


@dataclass(frozen=True)
class Config:
    """The programs with what is trained on their traces."""

    traced: tuple[Traced, ...] = field(default_factory=lambda: traced("paper"))

    @classmethod
    def at(cls, scale: Scale) -> Config:
        """The preset of a scale."""
        return cls(traced(scale))


def measure(config: Config, shelf: Shelf) -> list[Row]:
    """One row a program, version, seed, length and number of ones."""
    return shelf.gather(all_versions, config.traced)


def all_versions(one: Traced, shelf: Shelf) -> list[Row]:
    """Of the compiled program, of its minimal version, and of what was trained on its traces."""
    return compiled_cells(one) + traced_cells(one, shelf)


def run(config: Config, shelf: Shelf) -> pandas.DataFrame:
    """The rows as a table."""
    import pandas as pd

    return pd.DataFrame(measure(config, shelf))


def tabulate(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Shares of right answers by program and version."""
    return slices(rows, ["program", "version"])


def draw(rows: pandas.DataFrame) -> Figure:
    """A row a program; accuracy by length and by number of ones."""
    from espalier.show.figures import Facets, Look, draw_bands

    looks = {
        "original": Look("#8a8f99", "-", "o", "compiled"),
        "minimal": Look("#1f6fb4", "--", "s", "minimal version"),
        "traces": Look("#d02f2f", ":", "^", "trained on traces"),
    }
    facets = Facets(
        x="x",
        line="version",
        across="axis",
        down="program",
        titles="by {}",
        sides={name: f"accuracy\n{title}" for name, title in PROGRAMS.items()},
        looks=looks,
        limits=(-0.02, 1.05),
    )
    return draw_bands(both_ways(rows, ["program", "version"]), facets)
