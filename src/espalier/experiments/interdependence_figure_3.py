"""Figure 3 of the earlier paper: the close symbol's probability over training.

The quantity of the later paper's Figure 7; a conduit is a scaffold.
"""

from espalier.experiments.bottom_up_figure_7 import Config, draw, measure, run, tabulate

__all__ = ["Config", "draw", "measure", "run", "tabulate"]
