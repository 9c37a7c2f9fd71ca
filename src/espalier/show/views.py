"""The table of contents of this room: for every type of result, its text, HTML, page and figure.

Views are registered when a result of some room is first shown, so that a trace can be printed
without torch, and anything without matplotlib. Types and drawing functions are therefore imported
inside the functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from espalier.results import View, register

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def load_views(module: str) -> None:
    """Register how the results that a module of espalier defines look."""
    room = module.split(".")[1] if module.startswith("espalier.") else ""
    if room in _ROOMS:
        _ROOMS[room]()


def _interpreter() -> None:
    from espalier.interpreter import Trace
    from espalier.show.trace_page import trace_fragment, trace_page
    from espalier.show.trace_text import trace_text

    def draw(trace: Trace, ax: Axes | None) -> Figure:
        from espalier.show.figures import draw_trace

        return draw_trace(trace, ax=ax)

    register(Trace, View(trace_text, trace_fragment, trace_page, draw))


def _decomposition() -> None:
    from espalier.decomposition import PairMatrix, Parts
    from espalier.show import pairs_page as html
    from espalier.show.pairs_text import pairs_text, parts_text

    def draw_pairs(pairs: PairMatrix, ax: Axes | None) -> Figure:
        from espalier.show.figures import draw_pairs

        return draw_pairs(pairs, ax=ax)

    def draw_parts(parts: Parts, ax: Axes | None) -> Figure:
        from espalier.show.figures import draw_parts

        return draw_parts(parts, ax=ax)

    register(PairMatrix, View(pairs_text, html.pairs_fragment, html.pairs_page, draw_pairs))
    register(Parts, View(parts_text, html.parts_fragment, html.parts_page, draw_parts))


_ROOMS = {"interpreter": _interpreter, "decomposition": _decomposition}
