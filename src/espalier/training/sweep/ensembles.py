"""Runs trained as one ensemble: joined where they were stopped, and split again.

While they are trained, their run is in a folder `.ensemble-...` next to theirs, which lists its
cells. One that is found there later, because its process was stopped or killed, is first split into
its cells at the step it had reached: what happens next does not depend on which cells it had.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch

from espalier.errors import FileError
from espalier.files import write_text
from espalier.runs import (
    RESUME,
    Progress,
    RunFolder,
    choose_device,
    identity_of,
    locked,
    refuse_foreign_files,
    with_identity,
)
from espalier.training.ensemble import join_states
from espalier.training.groupable import Groupable
from espalier.training.lstm_learner import LSTMLearner
from espalier.training.sweep.splitting import has_ended, split_ensemble
from espalier.training.train import Trainable, fit_prepared, train

CELLS = "cells.json"  # in an ensemble's folder: for each member the name of its cell's folder
DIGITS = 12  # of the digest that ends its name


def groups_of(cells: Mapping[Path, Trainable], device: torch.device) -> list[dict[Path, Any]]:
    """Cells, given by their folders, that are trained as one ensemble, from the same step on.

    Those that are trained alone are groups of one.
    """
    groups: dict[object, dict[Path, Any]] = {}
    for path, run in cells.items():
        shared, step = run.shared(device), RunFolder(path).resume_step()
        groups.setdefault((shared, step) if shared else path, {})[path] = run
    return list(groups.values())


def train_group(
    out: Path, cells: Mapping[Path, Groupable], *, device: str, progress: Progress | None
) -> None:
    """Train cells, given by their folders, as one ensemble, from the step that all have reached.

    One whose learning rate has fallen too far leaves it there, and ends as it would alone.
    """
    _train_until_one_ends(out, cells, device=device, progress=progress)
    left = {path: run for path, run in cells.items() if not has_ended(RunFolder(path))}
    if 1 < len(left) < len(cells):
        train_group(out, left, device=device, progress=progress)
        return
    for path, run in left.items():
        train(run, path, device=device, progress=progress)


def _train_until_one_ends(
    out: Path, cells: Mapping[Path, Groupable], *, device: str, progress: Progress | None
) -> None:
    folders = {run.member: RunFolder.create(path) for path, run in cells.items()}
    names = json.dumps({member: folder.path.name for member, folder in folders.items()})
    digest = hashlib.sha256(names.encode()).hexdigest()[:DIGITS]
    with ExitStack() as held:
        for folder in folders.values():
            held.enter_context(locked(folder.path))
            refuse_foreign_files(folder)
        ensemble = RunFolder.create(out / f".ensemble-{digest}")
        write_text(ensemble.path / CELLS, names)
        runs = list(cells.values())
        if all(one.resume_step() for one in folders.values()):
            _join(ensemble, runs, list(folders.values()))
        plan, prepared = runs[0].plan(), runs[0].prepare(choose_device(device), runs[1:])
        if isinstance(prepared.learner, LSTMLearner):
            prepared.learner.until = torch.any
        fit_prepared(prepared, plan, runs, folder=ensemble, progress=progress)
        if (ensemble.path / RESUME).exists():
            split_ensemble(ensemble, folders)
        _remove(ensemble)


def ensembles_in(out: Path) -> list[RunFolder]:
    """The folders that ensembles left behind, without the user's copies of them."""
    return [RunFolder(path) for path in sorted(out.glob(f".ensemble-{'[0-9a-f]' * DIGITS}"))]


def split_ensembles(out: Path) -> None:
    """Split ensembles that were left behind into their cells, each as far as it was trained."""
    for ensemble in ensembles_in(out):
        if (ensemble.path / RESUME).exists():
            with ExitStack() as held:
                folders = _cells_of(ensemble)
                for folder in folders.values():
                    held.enter_context(locked(folder.path))
                split_ensemble(ensemble, folders)
        _remove(ensemble)


def _remove(ensemble: RunFolder) -> None:
    """Remove an ensemble's folder, its state first: without that there is nothing to split.

    Before a state was saved, there was nothing in it that its cells do not have.
    """
    (ensemble.path / RESUME).unlink(missing_ok=True)
    shutil.rmtree(ensemble.path)


def _cells_of(ensemble: RunFolder) -> dict[str, RunFolder]:
    file = ensemble.path / CELLS
    try:
        names = json.loads(file.read_bytes())
        return {m: RunFolder.create(ensemble.path.parent / name) for m, name in names.items()}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise FileError(
            f"{file} does not list this ensemble's cells ({error}); correct it, or remove the "
            f"folder {ensemble.path} to train its cells again"
        ) from error


def _join(ensemble: RunFolder, runs: Sequence[Groupable], cells: Sequence[RunFolder]) -> None:
    """Make one run of cells at the same step; the point to resume from is written last."""
    manifests = [one.manifest() or {} for one in cells]
    config = {"members": [one["config"] for one in manifests]}
    data = runs[0].data_beside([one["data"] for one in manifests])
    about, identity = {"config": config, "data": data}, identity_of(config, data)
    ensemble.write_manifest(with_identity(manifests[0] | about, identity, identity))
    for table in set().union(*(one.tables() & one.own_tables() for one in cells)):
        rows = [
            run.row_beside(row)
            for run, one in zip(runs, cells, strict=True)
            for row in one.rows(table)
        ]
        ensemble.write_rows(sorted(rows, key=lambda row: row["step"]), table)  # stable by member
    states = [state for one in cells if (state := one.load_resume()) is not None]
    ensemble.save_resume(join_states(states), cells[0].resume_step())
