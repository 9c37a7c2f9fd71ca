"""The explorer: programs, networks and runs on a local page, in a file, in a notebook.

A page asks named questions (`answers`) about what was named when it was opened (`session`). The
same modules of `static/` draw it in three homes: `server` on loopback, `saved_page` as one file
that needs no network, `notebook` as a widget. Needs the extra `espalier[explore]` for the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from espalier.explorer.answers import answer
from espalier.explorer.session import Session

if TYPE_CHECKING:
    from espalier.explorer.notebook import widget
    from espalier.explorer.saved_page import save_page
    from espalier.explorer.server import serve

__all__ = ["Session", "answer", "save_page", "serve", "widget"]


def __getattr__(name: str) -> Any:
    # Starlette and uvicorn are an extra.
    if name == "serve":
        from espalier.explorer.server import serve

        return serve
    if name == "save_page":
        from espalier.explorer.saved_page import save_page

        return save_page
    if name == "widget":
        from espalier.explorer.notebook import widget

        return widget
    raise AttributeError(f"module 'espalier.explorer' has no attribute {name!r}")
