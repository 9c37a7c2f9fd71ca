"""Models trained on scaffolds, text, parity and SCAN, alone or many at once; and sweeps."""

from espalier.training.alone import Alone
from espalier.training.ensembles import Ensemble, Member
from espalier.training.gradients import scaffold_gradients
from espalier.training.recipe import Recipe
from espalier.training.scaffold import Network, ScaffoldRun, ensemble, train_scaffold
from espalier.training.sweep import Sweep, read_sweep, run_sweep
from espalier.training.text import TextRun, train_text

__all__ = [
    "Alone",
    "Ensemble",
    "Member",
    "Network",
    "Recipe",
    "ScaffoldRun",
    "Sweep",
    "TextRun",
    "ensemble",
    "read_sweep",
    "run_sweep",
    "scaffold_gradients",
    "train_scaffold",
    "train_text",
]
