"""Text, HTML and figures of every result. The values themselves are made on the floors below.

A result shows itself (`print(result)`, `result.plot()`, `result.save(path)`), by the views that
`load_views` registers. What draws more than one result is in `espalier.show.figures`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from espalier.show.explanations import headline as explanation_headline
from espalier.show.explanations import placed_steps as explanation_steps
from espalier.show.explanations import summary as explanation_summary
from espalier.show.pages import resource
from espalier.show.pairs_text import coloured_pairs
from espalier.show.programs import listed_rules
from espalier.show.trace_data import trace_data
from espalier.show.trace_text import coloured_trace, token_names
from espalier.show.trace_text import ending as trace_ending
from espalier.show.views import load_views

if TYPE_CHECKING:
    from espalier.show.demo import build_report

__all__ = [
    "build_report",
    "coloured_pairs",
    "coloured_trace",
    "explanation_headline",
    "explanation_steps",
    "explanation_summary",
    "listed_rules",
    "load_views",
    "resource",
    "token_names",
    "trace_data",
    "trace_ending",
]


def __getattr__(name: str) -> Any:
    # The demo compiles programs and reads a model; printing a trace should not import torch.
    if name == "build_report":
        from espalier.show.demo import build_report

        return build_report
    raise AttributeError(f"module 'espalier.show' has no attribute {name!r}")
