"""Cells of a sweep trained as one ensemble: joined where they were stopped, and split again.

While they are trained, their run is in a folder `.ensemble-...` beside theirs. It is the same for
the same cells whatever their number of epochs, so that an interrupted one goes on.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from espalier.runs import Progress, RunFolder, Snapshot
from espalier.training.ensemble import join_states, member_state
from espalier.training.scaffold import ScaffoldRun, data_of
from espalier.training.train import manifest_config, train


def train_group(
    out: Path, cells: Mapping[Path, ScaffoldRun], *, device: str, progress: Progress | None
) -> None:
    """Train cells, given by their folders, as one ensemble, or on from where all of them are."""
    runs = list(cells.values())
    folders = {run.corpus.name: RunFolder(path) for path, run in cells.items()}
    named = [_without_epochs(run) for run in runs]
    digest = hashlib.sha256(repr(named).encode()).hexdigest()[:12]
    ensemble = RunFolder.create(out / f".ensemble-{digest}")
    if ensemble.resume_step() == 0 and all(one.resume_step() for one in folders.values()):
        _join(ensemble, folders)
    train(runs, ensemble.path, device=device, progress=progress)
    _split(ensemble, {member: RunFolder.create(one.path) for member, one in folders.items()}, runs)
    shutil.rmtree(ensemble.path)


def _without_epochs(run: ScaffoldRun) -> dict[str, object]:
    """The settings of a run that may not change when it goes on."""
    found = run.to_dict()
    found["recipe"] = {name: v for name, v in found["recipe"].items() if name != "epochs"}
    return found


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
    for table in set().union(*(one.tables() for one in cells.values())):
        rows = [row for one in cells.values() for row in one.rows(table)]
        ensemble.write_rows(sorted(rows, key=lambda row: row["step"]), table)  # stable by member
    states = [state for one in cells.values() if (state := one.load_resume()) is not None]
    ensemble.save_resume(join_states(states), next(iter(cells.values())).resume_step())


def _split(
    ensemble: RunFolder, cells: Mapping[str, RunFolder], runs: Sequence[ScaffoldRun]
) -> None:
    """Give every member a folder of its own: weights, rows, then its state and manifest."""
    manifest, state = ensemble.manifest() or {}, ensemble.load_resume() or {}
    for name in ensemble.checkpoints():
        weights = ensemble.load_checkpoint(name)
        metadata = {k: v for k, v in weights.metadata.items() if k != "members"}
        measured = json.loads(metadata.pop("metrics", "[]"))
        metadata.pop("dropout", None)  # members of a group share it: it is in the shape
        for index, (member, folder) in enumerate(cells.items()):
            own = {key: tensor[index].clone() for key, tensor in weights.tensors.items()}
            metadata["metrics"] = json.dumps([row for row in measured if row["member"] == member])
            folder.save_checkpoint(name, Snapshot(own, metadata))
    for table in ensemble.tables():
        rows = ensemble.rows(table)
        for member, folder in cells.items():
            folder.write_rows([row for row in rows if row["member"] == member], table)
    for folder in cells.values():
        folder.tidy()
    step = ensemble.resume_step()
    for index, ((member, folder), run) in enumerate(zip(cells.items(), runs, strict=True)):
        folder.save_resume(member_state(state, index), step)
        data = data_of([member], manifest["data"]["corpora"], manifest["data"]["counts"])
        about = {"config": manifest_config([run]), "data": data, "trained_beside": len(cells) - 1}
        folder.write_manifest(manifest | about)
