"""Logarithmic axes: what has no logarithm, and numbers where powers of ten are too far apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.ticker import MaxNLocator, NullLocator, StrMethodFormatter

if TYPE_CHECKING:
    import pandas


def above_zero(table: pandas.DataFrame) -> pandas.DataFrame:
    """An interval that reaches zero ends a decade below the least mean: zero has no logarithm."""
    least = table.loc[table["mean"] > 0, "mean"].min() / 10
    return table.assign(low=table["low"].clip(lower=least))


def number_within_a_decade(panel: Any) -> None:
    """Plain numbers where powers of ten alone would leave an axis with one, or none."""
    low, high = panel.get_ylim()
    if high < 10 * low:
        panel.yaxis.set_major_locator(MaxNLocator(5, steps=(1, 2, 5, 10)))
        panel.yaxis.set_minor_locator(NullLocator())
        panel.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
