"""What an evaluation found, as a value."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from espalier.files import write_frame

if TYPE_CHECKING:
    import pandas

Row = dict[str, Any]


@dataclass(frozen=True)
class Evaluation:
    """Which cases were answered rightly, after how many layers, and at what cost."""

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
        """One row a case: number, size, layers, right, and the answer where it was wrong."""
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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rows as .csv, .parquet or .json."""
        write_frame(path, self.to_frame())

    def __str__(self) -> str:
        right = sum(row["right"] for row in self.rows)
        return (
            f"{right:,} of {len(self.rows):,} right ({self.accuracy:.2%}), at most {self.layers} "
            f"layers, {self.seconds:.1f} s"
        )

    __repr__ = __str__
