"""A sweep: a table of configs, each cell a run in a folder of its own; finished cells are skipped.

Cells that can share kernels are trained as one ensemble and then split into their folders; the
others, or all with `workers`, are trained by local workers or on a dask cluster. However a cell was
computed, its folder has the same files, and it can be trained for more epochs; only the weights of
one that was trained alone may be stored with a first axis of one member, as an ensemble's are.
"""

from espalier.training.sweep.grid import Cell, Sweep, make_cells, read_sweep
from espalier.training.sweep.running import is_finished, pending, run_sweep, train_ensembles

__all__ = [
    "Cell",
    "Sweep",
    "is_finished",
    "make_cells",
    "pending",
    "read_sweep",
    "run_sweep",
    "train_ensembles",
]
