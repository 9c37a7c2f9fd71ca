"""What ALTA's C.1 leaves to future work: traces that need only be linearly readable.

Nothing is compiled: Universal Transformers learn all their weights from the traces of the three
parity programs, with no word on how variables are to be encoded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from espalier.experiments.alta_table_2 import draw, tabulate
from espalier.experiments.learners import Read, readable
from espalier.experiments.models import Scale
from espalier.experiments.strings import read_cells
from espalier.runs import Row

if TYPE_CHECKING:
    import pandas

    from espalier.experiments.shelf import Shelf

__all__ = ["Config", "draw", "measure", "run", "tabulate"]


@dataclass(frozen=True)
class Config:
    """The programs, and the Transformers that go through their traces."""

    read: tuple[Read, ...] = field(default_factory=lambda: readable("paper"))

    @classmethod
    def at(cls, scale: Scale) -> Config:
        """The preset of a scale."""
        return cls(readable(scale))


def measure(config: Config, shelf: Shelf) -> list[Row]:
    """One row a program, seed, length and number of ones."""
    return shelf.gather(read_cells, config.read)


def run(config: Config, shelf: Shelf) -> pandas.DataFrame:
    """The rows as a table."""
    import pandas as pd

    return pd.DataFrame(measure(config, shelf))
