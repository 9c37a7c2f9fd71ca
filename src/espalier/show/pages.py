"""The one frame of all pages, and the pieces of HTML that several pages have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

from espalier.show.text import count, shorten

if TYPE_CHECKING:
    import pandas

LONGEST_TEXT = 300
MOST_ROWS = 60  # of the table of a result


def resource(name: str) -> str:
    """A style sheet, script or template of this room."""
    return (files("espalier.show") / "static" / name).read_text("utf-8")


def fill(template: str, **values: str) -> str:
    """A template of this room with values, which are HTML already, in its places."""
    return Template(resource(template)).substitute(values)


def style(*names: str) -> str:
    """Style sheets for a snippet that a notebook shows."""
    return f"<style>{''.join(map(resource, names))}</style>"


def page(title: str, body: str, *, styles: Iterable[str] = (), scripts: Iterable[str] = ()) -> str:
    """One self-contained file that suits light and dark screens and needs no network."""
    code = "".join(f"<script>{resource(name)}</script>\n" for name in scripts)
    sheets = "".join(map(resource, ["page.css", *styles]))
    return fill("page.html", title=plain(title, 80), style=sheets, body=body, scripts=code)


def plain(text: str, most: int = LONGEST_TEXT) -> str:
    """Text as HTML, which is never read as markup; cut where it is very long."""
    return escape(shorten(text, most))


def row(cells: Iterable[str], *, kind: str = "") -> str:
    """A row of a table, its first cell being its head; the cells are HTML."""
    first, *others = cells
    mark = f' class="{kind}"' if kind else ""
    tail = "".join(cell if cell.startswith("<td") else f"<td>{cell}</td>" for cell in others)
    return f'<tr{mark}><th scope="row">{first}</th>{tail}</tr>\n'


def table(head: Sequence[str], rows: Iterable[str], *, caption: str = "", kind: str = "") -> str:
    """A table; heads are text, rows are HTML."""
    above = f"<caption>{escape(caption)}</caption>\n" if caption else ""
    cells = "".join(f'<th scope="col">{plain(name)}</th>' for name in head)
    mark = f' class="{kind}"' if kind else ""
    return (
        f"<table{mark}>{above}<thead><tr>{cells}</tr></thead>\n"
        f"<tbody>{''.join(rows)}</tbody></table>\n"
    )


def frame_table(frame: pandas.DataFrame, most: int = MOST_ROWS) -> str:
    """The first rows of a data frame; nothing if there are none."""
    if frame.empty:
        return ""
    shown = [[_cell(value) for value in line] for line in frame.head(most).itertuples(index=False)]
    left = len(frame) - len(shown)
    note = f"<p>… and {count(left, 'more row')}; to_frame() has all.</p>" if left else ""
    rows = [row(map(plain, cells)) for cells in shown]
    return table(list(map(str, frame.columns)), rows) + note


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
