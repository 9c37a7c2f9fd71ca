"""A run is a folder: its manifest, measures and checkpoints, and the loop that fills it.

`run_jobs` runs many independent jobs, and `fill_table` saves their rows. Training, evaluation,
learnability and experiments all use this room. Nothing here knows what is trained: the loop calls a
`Learner`. torch is imported only when it is needed.
"""

from espalier.files import MANIFEST
from espalier.runs.devices import Precision, Step, captured, choose_device, matmul_precision
from espalier.runs.folder import RESUME, RunFolder
from espalier.runs.jobs import HERE, AnyWorkers, Job, LostWorkersError, Workers, run_jobs
from espalier.runs.learner import Learner, Row, Snapshot
from espalier.runs.listing import RunSummary, list_runs
from espalier.runs.lock import LOCK, FolderHeldError, FolderLostError, locked
from espalier.runs.loop import Interrupted, Plan, fit, interruptible
from espalier.runs.manifest import (
    close_run,
    describe_run,
    identity_of,
    open_run,
    recorded,
    refuse_edited,
    refuse_foreign_files,
    refuse_other_config,
    refuse_other_data,
    with_identity,
)
from espalier.runs.memory import peak_bytes, resident_bytes
from espalier.runs.parallel import load_solvers, on_device
from espalier.runs.partitions import Part, fill_table
from espalier.runs.parts import Counts, by_parts
from espalier.runs.progress import (
    Lines,
    Moment,
    Progress,
    averages,
    check_progress,
    clock,
    describe,
    latest,
)
from espalier.runs.rows import IDENTITY
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
    "HERE",
    "IDENTITY",
    "LOCK",
    "MANIFEST",
    "RESUME",
    "AnyWorkers",
    "AtEpochs",
    "AtSteps",
    "Counts",
    "EveryEpoch",
    "FolderHeldError",
    "FolderLostError",
    "Interrupted",
    "Job",
    "Learner",
    "Lines",
    "LogSteps",
    "LostWorkersError",
    "Moment",
    "Part",
    "Plan",
    "Precision",
    "Progress",
    "Row",
    "RunFolder",
    "RunSummary",
    "Schedule",
    "Snapshot",
    "Step",
    "Workers",
    "averages",
    "by_parts",
    "captured",
    "check_progress",
    "checkpoint_name",
    "choose_device",
    "clock",
    "close_run",
    "describe",
    "describe_run",
    "fill_table",
    "fit",
    "identity_of",
    "interruptible",
    "latest",
    "list_runs",
    "load_solvers",
    "locked",
    "matmul_precision",
    "on_device",
    "open_run",
    "parse_schedule",
    "peak_bytes",
    "recorded",
    "refuse_edited",
    "refuse_foreign_files",
    "refuse_other_config",
    "refuse_other_data",
    "resident_bytes",
    "run_jobs",
    "steps_of",
    "with_identity",
]
