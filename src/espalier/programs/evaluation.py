"""What an evaluation found, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from espalier.results import Result

if TYPE_CHECKING:
    import pandas

Row = dict[str, Any]


@dataclass(frozen=True, repr=False)
class Evaluation(Result):
    """Which cases were answered rightly, after how many layers, and at what cost.

    >>> row = {"input": "1", "right": True, "layers": 2}
    >>> Evaluation((row,), seconds=0.1, peak_bytes=0).accuracy
    1.0
    """

    rows: tuple[Row, ...]
    seconds: float
    peak_bytes: int

    @property
    def accuracy(self) -> float:
        """The share of right answers."""
        return float(sum(row["right"] for row in self.rows) / len(self.rows))

    @property
    def layers(self) -> int:
        """The most layers that any case took."""
        return int(max(row["layers"] for row in self.rows))

    @property
    def wrong(self) -> list[Row]:
        """The cases answered wrongly, with what was answered."""
        return [row for row in self.rows if not row["right"]]

    def to_frame(self) -> pandas.DataFrame:
        """One row per case: number, size, layers, right, and the answer where it was wrong."""
        import pandas as pd

        return pd.DataFrame(list(self.rows))

    def by_size(self) -> pandas.DataFrame:
        """For each size: how many cases, the share answered rightly, mean and most layers."""
        grouped = self.to_frame().groupby("size")
        table = grouped.agg(
            cases=("right", "size"),
            accuracy=("right", "mean"),
            mean_layers=("layers", "mean"),
            most_layers=("layers", "max"),
        )
        return table.reset_index()
