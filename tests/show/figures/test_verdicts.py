"""One panel per claim: the words above and next to it are not cut off."""

import pandas as pd

from espalier.show.figures import draw_verdicts
from espalier.show.figures.canvas import PAGE


def test_statements_end_within_the_figure():
    words = "open symbol and scaffold are more interdependent if it is familiar, of which six"
    row = {"statement": words, "quantity": words, "side": "below", "bound": 1.0, "length": 2}
    rows = [
        row | {"claim": key, "mean": 0.5, "low": 0.4, "high": 0.6, "holds": True} for key in "abcd"
    ]
    figure = draw_verdicts(pd.DataFrame(rows))
    figure.draw_without_rendering()
    assert figure.get_size_inches()[0] <= PAGE
    for panel in figure.axes[: len(rows)]:
        title = panel._left_title.get_window_extent()
        assert panel.get_title(loc="left").replace("\n", " ").endswith(words)
        assert title.x1 <= figure.bbox.x1
        assert title.y1 <= figure.bbox.y1
    (legend,) = figure.legends
    assert legend.get_window_extent().x1 <= figure.bbox.x1
