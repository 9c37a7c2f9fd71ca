"""A training run kept in a folder from its first step to its manifest's last word."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from typing import Any

import torch

from espalier.training.folder import RunFolder
from espalier.training.learner import Learner, Row
from espalier.training.loop import Interrupted, Plan, train
from espalier.training.manifest import close_run, describe_run, open_run
from espalier.training.progress import Report
from espalier.training.schedule import AtEpochs
from espalier.training.stacked import StackedLearner

About = tuple[str, dict[str, Any], dict[str, Any]]  # kind, config, data


def keep_run(
    learner: Learner,
    plan: Plan,
    *,
    folder: RunFolder | None,
    about: About,
    report: Report,
    also: Callable[[Row], None] | None = None,
) -> list[Row]:
    """Train as planned; the folder, if any, tells what was done and how it ended."""
    if folder is None:
        return train(learner, plan, report=report, also=also)
    kind, config, data = about
    device: torch.device = learner.device
    manifest = open_run(folder, describe_run(kind, config, data=data, device=device))
    began, status = time.monotonic(), "failed"
    try:
        rows = train(learner, plan, folder=folder, report=report, also=also)
        status = "finished"
    except Interrupted:
        status = "interrupted"
        raise
    finally:
        close_run(folder, manifest, status=status, seconds=time.monotonic() - began)
        if status != "failed":
            folder.tidy()
    return rows


def keep_steps(
    learner: StackedLearner, about: About, *, out: str | os.PathLike[str] | None, report: Report
) -> list[Row]:
    """Train a stack to its last step, or on to it; a folder `out` keeps what it ends with."""
    kind, config, data = about
    measures = learner.recipe.measures
    return keep_run(
        learner,
        Plan(measures, (AtEpochs((measures,)),)),
        folder=None if out is None else RunFolder.create(out),
        about=(kind, json.loads(json.dumps(config)), data),
        report=report,
    )
