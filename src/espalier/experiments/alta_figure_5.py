"""ALTA, Figure 5: Transformers trained end to end behave like Sum + Modulo trained on traces.

End to end, the shallower Transformers with relative positions are shown; Figures 9 and 10 have all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from espalier.experiments.learners import Traced, end_to_end, traced
from espalier.experiments.models import Scale
from espalier.experiments.strings import both_ways, slices, traced_cells, transformer_cells
from espalier.runs import Row
from espalier.training.parity import ParityRun

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from espalier.experiments.shelf import Shelf

SHARING = {"no": "end to end", "yes": "end to end, shared weights"}
TITLES = {
    "sequential-relative": "Sequential\n(Relative)",
    "sequential-absolute": "Sequential\n(Absolute)",
    "sum-modulo": "Sum +\nModulo",
    "end to end": "end to end\n(own)",
    "end to end, shared weights": "end to end\n(shared)",
}


@dataclass(frozen=True)
class Config:
    """What is trained on traces, and what end to end."""

    traced: tuple[Traced, ...] = field(default_factory=lambda: traced("paper"))
    runs: tuple[ParityRun, ...] = field(default_factory=lambda: _shallow("paper"))

    @classmethod
    def at(cls, scale: Scale) -> Config:
        """The preset of a scale."""
        return cls(traced(scale), _shallow(scale))


def _shallow(scale: Scale) -> tuple[ParityRun, ...]:
    relative = [run for run in end_to_end(scale) if run.shape.positions == "relative"]
    fewest = min(run.shape.layers for run in relative)
    return tuple(run for run in relative if run.shape.layers == fewest)


def measure(config: Config, shelf: Shelf) -> list[Row]:
    """One row a kind of supervision, seed, length and number of ones."""
    traces = shelf.gather(traced_cells, config.traced)
    return beside(traces, shelf.gather(transformer_cells, config.runs))


def beside(traces: Iterable[Row], examples: Iterable[Row]) -> list[Row]:
    """Rows of Table 2 and of Table 3's shallower Transformers under one heading."""
    names = ("supervision", "seed", "trained_to", "length", "ones", "strings", "right", "odd")
    rows = [row | {"supervision": row["program"]} for row in traces]
    rows += [row | {"supervision": SHARING[str(row["sharing"])]} for row in examples]
    return [{name: row[name] for name in names} for row in rows]


def run(config: Config, shelf: Shelf) -> pandas.DataFrame:
    """The rows as a table."""
    import pandas as pd

    return pd.DataFrame(measure(config, shelf))


def tabulate(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Shares of right answers by supervision; lengths of training differ at the small scale."""
    import pandas as pd

    tables = [slices(some, ["supervision"]) for _, some in rows.groupby("trained_to")]
    for table in tables:
        table.columns = ["supervision", "short", "long", "many ones"]
    return pd.concat(tables, ignore_index=True)


def draw(rows: pandas.DataFrame) -> Figure:
    """By length and by number of ones; a row a kind of supervision, since most curves swing."""
    from espalier.show.figures import Facets, Look, draw_bands

    facets = Facets(
        x="x",
        line="from",
        across="axis",
        down="supervision",
        titles="accuracy by {}",
        sides=TITLES,
        looks={
            "traces": Look("#d02f2f", "-", "^", "MLP trained on traces"),
            "examples": Look("#1b1f27", "-", "o", "Transformer trained end to end"),
        },
        limits=(-0.05, 1.08),
        height=1.15,
    )
    table = both_ways(rows, ["supervision"])
    ends = table["supervision"].isin(SHARING.values())
    return draw_bands(
        table.assign(**{"from": ends.map({True: "examples", False: "traces"})}), facets
    )
