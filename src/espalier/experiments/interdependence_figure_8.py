"""Figure 8 of the earlier paper: interdependence by sequential distance.

The quantity of the later paper's Figure 3; both spaces are drawn there.
"""

from espalier.experiments.bottom_up_figure_3 import Config, draw, run, tabulate

__all__ = ["Config", "draw", "run", "tabulate"]
