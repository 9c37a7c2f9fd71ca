"""Figure 11 of the earlier paper: gradient magnitudes along the scaffold.

The quantity of the later paper's Figure 12.
"""

from espalier.experiments.bottom_up_figure_12 import Config, draw, measure, run, tabulate

__all__ = ["Config", "draw", "measure", "run", "tabulate"]
