"""A result as a file, of the kind that its suffix says."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from espalier.errors import FileError
from espalier.files import FRAME_SUFFIXES, write_frame, write_text

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


class Shown(Protocol):
    """What can be a table, a figure and a page."""

    def to_frame(self) -> pandas.DataFrame:
        """The table."""

    def plot(self) -> Figure:
        """The figure."""

    def to_html(self) -> str:
        """The page."""


def save(result: Shown, path: str | os.PathLike[str]) -> None:
    """Write a table (.csv, .parquet, .json), a figure (.png, .svg, .pdf) or a page (.html)."""
    match Path(path).suffix.lower():
        case ".html" | ".htm":
            write_text(path, result.to_html())
        case ".png" | ".svg" | ".pdf":
            # Figures are drawn a room above this one, so they are fetched when asked for.
            import_module("espalier.plots").save_figure(result.plot(), path)
        case suffix if suffix in FRAME_SUFFIXES:
            write_frame(path, result.to_frame())
        case suffix:
            raise FileError(
                f"cannot save as {suffix or 'a file without suffix'!r} ({path}); use one of "
                f"{', '.join((*FRAME_SUFFIXES, '.png', '.svg', '.pdf', '.html'))}"
            )
