"""Figure 4 of the earlier paper: what the open symbol alone says about the close symbol.

The quantity of the later paper's Figure 8: a probability is the softmax of logits in both papers.
"""

from espalier.experiments.bottom_up_figure_8 import Config, draw, measure, run, tabulate

__all__ = ["Config", "draw", "measure", "run", "tabulate"]
