"""A training run kept in a folder from its first step to its manifest's last word."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import torch

from espalier.runs import (
    AtEpochs,
    Learner,
    Plan,
    Progress,
    Row,
    RunFolder,
    describe_run,
    fit,
    recorded,
)
from espalier.training.stacked import StackedLearner

About = tuple[str, dict[str, Any], dict[str, Any]]  # kind, config, data


def keep_run(
    learner: Learner,
    plan: Plan,
    *,
    folder: RunFolder | None,
    about: About,
    progress: Progress | None,
    also: Callable[[Row], None] | None = None,
) -> list[Row]:
    """Train as planned; the folder, if any, tells what was done and how it ended."""
    if folder is None:
        return fit(learner, plan, progress=progress, also=also)
    kind, config, data = about
    device: torch.device = learner.device
    manifest = describe_run(kind, config, data=data, device=device) | {"epochs": plan.epochs}
    with recorded(folder, manifest):
        return fit(learner, plan, folder=folder, progress=progress, also=also)


def keep_steps(
    learner: StackedLearner,
    about: About,
    *,
    out: str | os.PathLike[str] | None,
    progress: Progress | None,
) -> list[Row]:
    """Train a stack to its last step, or on to it; a folder `out` keeps what it ends with."""
    kind, config, data = about
    measures = learner.recipe.measures
    return keep_run(
        learner,
        Plan(measures, (AtEpochs((measures,)),)),
        folder=None if out is None else RunFolder.create(out),
        about=(kind, json.loads(json.dumps(config)), data),
        progress=progress,
    )
