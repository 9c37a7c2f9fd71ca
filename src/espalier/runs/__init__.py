"""A run is a folder: its manifest, measures and checkpoints, and the loop that fills it.

Used alike by training, evaluation, learnability and experiments. Nothing here knows what is
trained: the loop asks a `Learner`. torch is imported when it is needed.
"""

from espalier.runs.devices import Precision, Step, captured, choose_device, matmul_precision
from espalier.runs.folder import MANIFEST, RESUME, RunFolder
from espalier.runs.learner import Learner, Row, Snapshot
from espalier.runs.listing import RunSummary, list_runs
from espalier.runs.lock import LOCK, FolderHeldError, locked
from espalier.runs.loop import Interrupted, Plan, fit, interruptible
from espalier.runs.manifest import (
    close_run,
    describe_run,
    open_run,
    recorded,
    refuse_other_config,
)
from espalier.runs.parallel import LostWorkersError, in_processes, on_cluster, on_device
from espalier.runs.progress import Lines, Moment, Progress, averages, clock, describe, latest
from espalier.runs.schedule import (
    AtEpochs,
    AtSteps,
    EveryEpoch,
    LogSteps,
    Schedule,
    checkpoint_name,
    parse_schedule,
    steps_of,
)

__all__ = [
    "LOCK",
    "MANIFEST",
    "RESUME",
    "AtEpochs",
    "AtSteps",
    "EveryEpoch",
    "FolderHeldError",
    "Interrupted",
    "Learner",
    "Lines",
    "LogSteps",
    "LostWorkersError",
    "Moment",
    "Plan",
    "Precision",
    "Progress",
    "Row",
    "RunFolder",
    "RunSummary",
    "Schedule",
    "Snapshot",
    "Step",
    "averages",
    "captured",
    "checkpoint_name",
    "choose_device",
    "clock",
    "close_run",
    "describe",
    "describe_run",
    "fit",
    "in_processes",
    "interruptible",
    "latest",
    "list_runs",
    "locked",
    "matmul_precision",
    "on_cluster",
    "on_device",
    "open_run",
    "parse_schedule",
    "recorded",
    "refuse_other_config",
    "steps_of",
]
