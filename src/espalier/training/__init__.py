"""Models trained on scaffolds, text, parity and SCAN, alone or many at once; and sweeps."""

from espalier.training.configs import Network, Recipe, StepRecipe, check_seeds
from espalier.training.ensemble import EnsembleLearner, Member
from espalier.training.gradients import LossReading, member_gradients
from espalier.training.measures import CloseProbability, TextLoss
from espalier.training.parity import TOKENS, ParityRun, ParityTransformers
from espalier.training.scaffold import ScaffoldRun
from espalier.training.scan import FITTED, ScanRun, TranslationTask
from espalier.training.scan_answers import ScanTransformers
from espalier.training.scan_batches import SYMBOLS, read_split, some_of, symbols_of
from espalier.training.scan_counts import exactly, ways_of_counting
from espalier.training.scan_variants import ScanVariant
from espalier.training.settings import as_settings, flatten, override, parse_words, read_toml
from espalier.training.single import SingleLearner
from espalier.training.sweep import Sweep, read_sweep, run_sweep, train_ensembles
from espalier.training.task_learner import TaskLearner, by_seed, step_plan
from espalier.training.text import TextRun
from espalier.training.train import (
    Prepared,
    Trainable,
    TrainedRun,
    manifest_config,
    open_run,
    seed_of,
    train,
)

KINDS: tuple[type[Trainable], ...] = (ScaffoldRun, TextRun, ParityRun, ScanRun, ScanVariant)

__all__ = [
    "FITTED",
    "KINDS",
    "SYMBOLS",
    "TOKENS",
    "CloseProbability",
    "EnsembleLearner",
    "LossReading",
    "Member",
    "Network",
    "ParityRun",
    "ParityTransformers",
    "Prepared",
    "Recipe",
    "ScaffoldRun",
    "ScanRun",
    "ScanTransformers",
    "ScanVariant",
    "SingleLearner",
    "StepRecipe",
    "Sweep",
    "TaskLearner",
    "TextLoss",
    "TextRun",
    "Trainable",
    "TrainedRun",
    "TranslationTask",
    "as_settings",
    "by_seed",
    "check_seeds",
    "exactly",
    "flatten",
    "manifest_config",
    "member_gradients",
    "open_run",
    "override",
    "parse_words",
    "read_split",
    "read_sweep",
    "read_toml",
    "run_sweep",
    "seed_of",
    "some_of",
    "step_plan",
    "symbols_of",
    "train",
    "train_ensembles",
    "ways_of_counting",
]
