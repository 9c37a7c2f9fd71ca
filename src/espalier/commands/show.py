"""How results look in a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from espalier.errors import harmless

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


def console() -> Console:
    """Standard output, with colours on a terminal; brackets are no markup.

    Control characters, as in words of files, are escaped.
    """
    from rich.console import Console

    class Harmless(Console):
        def render_str(self, text: str, **how: Any) -> Text:
            return super().render_str(harmless(text), **how)

    return Harmless(soft_wrap=True, markup=False)


def show_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A plain table."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in head:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console().print(table)


def show_pairs(pairs: Mapping[str, str]) -> None:
    """Names and values, aligned."""
    width = max(map(len, pairs))
    for name, value in pairs.items():
        console().print(f"{name:<{width}}  {value}", highlight=False, markup=False)
