"""Figure 10 of the earlier paper: rule frequency and scaffold length.

The quantity of the later paper's Figure 11.
"""

from espalier.experiments.bottom_up_figure_11 import Config, draw, measure, run, tabulate

__all__ = ["Config", "draw", "measure", "run", "tabulate"]
