"""Cells of a sweep as ensembles: grouped by what members must share, trained, and split again."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from espalier.nets.lstm import checkpoints, read_tensors
from espalier.runs import Progress, RunFolder, Snapshot
from espalier.training.scaffold import ScaffoldRun, data_of, ensemble, train_scaffold
from espalier.training.text import TextRun, train_text

if TYPE_CHECKING:
    from espalier.training.sweep import Cell


def train_together(
    out: Path, cells: Sequence[Cell], *, device: str, progress: Progress | None
) -> None:
    """Train every cell; those that can be members of one ensemble are."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(_shared(cell), []).append(cell)
    for group in groups.values():
        if len(group) > 1:
            _train_group(out, group, device=device, progress=progress)
        else:
            _train_one(out / group[0].name, group[0].run(), device=device, progress=progress)


def split(folder: RunFolder, names: dict[str, Path], configs: dict[str, dict[str, object]]) -> None:
    """Give every member of an ensemble's run a folder of its own: weights, rows and manifest."""
    manifest = folder.manifest() or {}
    made = {member: RunFolder.create(path) for member, path in names.items()}
    for file in checkpoints(folder.path):
        tensors, metadata = read_tensors(file)
        members = json.loads(metadata.pop("members"))
        measured = json.loads(metadata.pop("metrics", "[]"))
        metadata.pop("dropout", None)  # members of a group share it: it is in the shape
        for index, member in enumerate(members):
            own = {name: tensor[index].clone() for name, tensor in tensors.items()}
            own_rows = [row for row in measured if row["member"] == member]
            measure = {"metrics": json.dumps(own_rows)}
            made[member].save_checkpoint(file.stem, Snapshot(own, metadata | measure))
    for table in folder.tables():
        rows = folder.rows(table)
        for member, one in made.items():
            one.write_rows([row for row in rows if row["member"] == member], table)
    for member, one in made.items():
        one.tidy()
        data = data_of(manifest["data"]["corpora"], [member], manifest["data"]["counts"])
        beside = {"config": configs[member], "data": data, "trained_beside": len(made) - 1}
        one.write_manifest(manifest | beside)


def _shared(cell: Cell) -> str:
    """What members of one ensemble must agree in; a text cell is a group of its own."""
    run = cell.run()
    if isinstance(run, TextRun):
        return cell.name
    free = ("length", "setting", "seed", "rules")
    corpus = {name: value for name, value in asdict(run.corpus).items() if name not in free}
    return repr((corpus, run.network, run.recipe, run.keep, run.gradients))


def _train_one(
    folder: Path, run: ScaffoldRun | TextRun, *, device: str, progress: Progress | None
) -> None:
    if isinstance(run, TextRun):
        train_text(run, out=folder, device=device, progress=progress)
    else:
        train_scaffold(run, out=folder, device=device, progress=progress)


def _train_group(
    out: Path, cells: Sequence[Cell], *, device: str, progress: Progress | None
) -> None:
    runs = [run for cell in cells if isinstance(run := cell.run(), ScaffoldRun)]
    digest = hashlib.sha256(repr(runs).encode()).hexdigest()[:12]
    folder = RunFolder.create(out / f".ensemble-{digest}")
    ensemble(runs, out=folder.path, device=device, progress=progress)
    members = [run.corpus.name for run in runs]
    names = {member: out / cell.name for member, cell in zip(members, cells, strict=True)}
    configs = {member: run.to_dict() for member, run in zip(members, runs, strict=True)}
    split(folder, names, configs)
    shutil.rmtree(folder.path)
