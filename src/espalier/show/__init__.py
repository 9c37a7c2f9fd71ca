"""Text, HTML and figures of every result. The values themselves are made on the floors below.

A result shows itself (`print(result)`, `result.plot()`, `result.save(path)`), by the views that
`load_views` registers. What draws more than one result is in `espalier.show.figures`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from espalier.show.pairs_text import coloured_pairs
from espalier.show.trace_text import coloured_trace
from espalier.show.views import load_views

if TYPE_CHECKING:
    from espalier.show.demo import build_report

__all__ = ["build_report", "coloured_pairs", "coloured_trace", "load_views"]


def __getattr__(name: str) -> Any:
    # The demo compiles programs and reads a model: nobody should wait for torch to print a trace.
    if name == "build_report":
        from espalier.show.demo import build_report

        return build_report
    raise AttributeError(f"module 'espalier.show' has no attribute {name!r}")
