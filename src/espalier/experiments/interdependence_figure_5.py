"""Figure 5 of the earlier paper: the open symbol joined by scaffold tokens, one by one.

The quantity of the later paper's Figure 9.
"""

from espalier.experiments.bottom_up_figure_9 import Config, draw, measure, run, tabulate

__all__ = ["Config", "draw", "measure", "run", "tabulate"]
