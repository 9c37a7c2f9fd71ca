"""One loop for every model; many models at once; checkpoints."""

from espalier.training.alone import Alone
from espalier.training.ensembles import Ensemble, Member
from espalier.training.folder import RunFolder
from espalier.training.gradients import scaffold_gradients
from espalier.training.learner import Learner
from espalier.training.listing import list_runs
from espalier.training.loop import Interrupted, Plan, train
from espalier.training.recipe import Recipe
from espalier.training.scaffold import Network, ScaffoldRun, ensemble, train_scaffold
from espalier.training.sweep import Sweep, read_sweep, run_sweep
from espalier.training.text import TextRun, train_text

__all__ = [
    "Alone",
    "Ensemble",
    "Interrupted",
    "Learner",
    "Member",
    "Network",
    "Plan",
    "Recipe",
    "RunFolder",
    "ScaffoldRun",
    "Sweep",
    "TextRun",
    "ensemble",
    "list_runs",
    "read_sweep",
    "run_sweep",
    "scaffold_gradients",
    "train",
    "train_scaffold",
    "train_text",
]
