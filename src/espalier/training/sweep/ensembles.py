"""Cells of a sweep trained as one ensemble: joined where they were stopped, and split again.

While they are trained, their run is in a folder `.ensemble-...` beside theirs, which says by itself
whose it is. One that is found there later, because its process was stopped or killed, is split into
its cells first, wherever it came to: what happens next does not depend on which cells it had.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from espalier.errors import FileError
from espalier.files import write_text
from espalier.runs import (
    MANIFEST,
    RESUME,
    Progress,
    RunFolder,
    Snapshot,
    locked,
    refuse_foreign_files,
)
from espalier.training.ensemble import join_states, member_state
from espalier.training.scaffold import ScaffoldRun, data_of
from espalier.training.train import train

CELLS = "cells.json"  # of an ensemble's folder: for each member the name of its cell's
DIGITS = 12  # of the digest that ends its name


def train_group(
    out: Path, cells: Mapping[Path, ScaffoldRun], *, device: str, progress: Progress | None
) -> None:
    """Train cells, given by their folders, as one ensemble, on from the step all of them are at."""
    folders = {run.corpus.name: RunFolder.create(path) for path, run in cells.items()}
    names = json.dumps({member: folder.path.name for member, folder in folders.items()})
    digest = hashlib.sha256(names.encode()).hexdigest()[:DIGITS]
    with ExitStack() as held:
        for folder in folders.values():
            held.enter_context(locked(folder.path))
            refuse_foreign_files(folder)
        ensemble = RunFolder.create(out / f".ensemble-{digest}")
        write_text(ensemble.path / CELLS, names)
        if all(one.resume_step() for one in folders.values()):
            _join(ensemble, folders)
        train(list(cells.values()), ensemble.path, device=device, progress=progress)
        _split(ensemble, folders)
        _remove(ensemble)


def split_ensembles(out: Path) -> None:
    """Give what was left of ensembles to their cells, each as far as it was trained."""
    for path in sorted(out.glob(f".ensemble-{'[0-9a-f]' * DIGITS}")):  # a person's copies stay
        ensemble = RunFolder(path)
        if (path / RESUME).exists():
            with ExitStack() as held:
                folders = _cells_of(ensemble)
                for folder in folders.values():
                    held.enter_context(locked(folder.path))
                _split(ensemble, folders)
        _remove(ensemble)


def _remove(ensemble: RunFolder) -> None:
    """Remove an ensemble's folder; without its state, which goes first, there is nothing to split.

    Before a state was saved there was nothing in it either that its cells do not have.
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
            f"{file} does not say whose this ensemble is ({error}); put it right, or remove the "
            f"folder {ensemble.path} to train its cells again"
        ) from error


def _join(ensemble: RunFolder, cells: Mapping[str, RunFolder]) -> None:
    """Make one run of cells that were trained to the same step; the point to resume from last."""
    manifests = [one.manifest() or {} for one in cells.values()]
    digests, counts = (
        {name: value for one in manifests for name, value in one["data"][kind].items()}
        for kind in ("corpora", "counts")
    )
    config = {"members": [one["config"] for one in manifests]}
    data = data_of(list(cells), digests, counts)
    ensemble.write_manifest(manifests[0] | {"config": config, "data": data})
    for table in set().union(*(one.tables() & one.own_tables() for one in cells.values())):
        rows = [row for one in cells.values() for row in one.rows(table)]
        ensemble.write_rows(sorted(rows, key=lambda row: row["step"]), table)  # stable by member
    states = [state for one in cells.values() if (state := one.load_resume()) is not None]
    ensemble.save_resume(join_states(states), next(iter(cells.values())).resume_step())


def _split(ensemble: RunFolder, cells: Mapping[str, RunFolder]) -> None:
    """Give every member a folder of its own: weights, rows, its state, then its manifest.

    It can be repeated after a kill. A cell that is further, or there already, stays as it is.
    """
    manifest, state = _manifest_of(ensemble, cells), ensemble.load_resume() or {}
    step = ensemble.resume_step()
    behind = [
        (index, member)
        for index, (member, folder) in enumerate(cells.items())
        if not _is_past(folder, step)
    ]
    for name, reached in ensemble.checkpoints().items():
        if reached <= step:
            _split_checkpoint(ensemble.load_checkpoint(name), name, cells, behind)
    for table in ensemble.tables() & ensemble.own_tables():
        rows = [row for row in ensemble.rows(table) if int(row["step"]) <= step]
        for _, member in behind:
            cells[member].write_rows([row for row in rows if row["member"] == member], table)
    status = "finished" if manifest["status"] == "finished" else "interrupted"
    for index, member in behind:
        cells[member].tidy()
        cells[member].save_resume(member_state(state, index), step)
        about = _about(manifest, member, index)
        cells[member].write_manifest(manifest | about | {"status": status})


def _manifest_of(ensemble: RunFolder, cells: Mapping[str, RunFolder]) -> dict[str, Any]:
    """The ensemble's manifest, if it is that of these cells."""
    manifest = ensemble.manifest() or {}
    members, data = manifest.get("config", {}).get("members"), manifest.get("data", {})
    known = [data.get(name) for name in ("corpora", "counts")]
    if (
        manifest.get("kind") != ScaffoldRun.kind
        or not isinstance(members, list)
        or len(members) != len(cells)
        or any(not isinstance(one, dict) or not cells.keys() <= one.keys() for one in known)
    ):
        raise FileError(
            f"{ensemble.path / MANIFEST} is not that of an ensemble of {', '.join(cells)}; put it "
            f"right, or remove the folder to train its cells again"
        )
    return manifest


def _is_past(cell: RunFolder, step: int) -> bool:
    """Whether a cell is further than this step, or ended there."""
    reached, manifest = cell.resume_step(), cell.manifest()
    ended = manifest is not None and manifest["status"] == "finished"
    return reached > step or (reached == step and ended)


def _split_checkpoint(
    weights: Snapshot,
    name: str,
    cells: Mapping[str, RunFolder],
    behind: Sequence[tuple[int, str]],
) -> None:
    # Members of a group share their dropout: it is in the shape.
    whose = ("members", "dropout", "metrics")
    metadata = {key: v for key, v in weights.metadata.items() if key not in whose}
    measured = json.loads(weights.metadata.get("metrics", "[]"))
    for index, member in behind:
        own = {key: tensor[index].clone() for key, tensor in weights.tensors.items()}
        metrics = json.dumps([row for row in measured if row["member"] == member])
        cells[member].save_checkpoint(name, Snapshot(own, metadata | {"metrics": metrics}))


def _about(manifest: dict[str, Any], member: str, index: int) -> dict[str, Any]:
    """What the manifest of one cell says that the ensemble's does not."""
    members = manifest["config"]["members"]
    data = data_of([member], manifest["data"]["corpora"], manifest["data"]["counts"])
    return {"config": members[index], "data": data, "trained_beside": len(members) - 1}
