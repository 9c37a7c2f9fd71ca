"""An ensemble's run given to its members: each has a folder as if it had been trained alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from espalier.errors import EspalierError, FileError
from espalier.files import settle
from espalier.runs import (
    MANIFEST,
    Row,
    RunFolder,
    Snapshot,
    identity_of,
    steps_of,
    with_identity,
)
from espalier.training.ensemble import member_state
from espalier.training.groupable import Groupable
from espalier.training.lstm_learner import too_small
from espalier.training.scaffold import ScaffoldRun
from espalier.training.text import TextRun

KINDS: dict[str, type[Groupable]] = {one.kind: one for one in (ScaffoldRun, TextRun)}


@dataclass(frozen=True)
class _Part:
    """A cell's part of its ensemble; `ended` if its learning rate has fallen too far."""

    index: int
    run: Groupable
    folder: RunFolder
    config: dict[str, Any]
    data: dict[str, Any]
    ended: bool

    @property
    def identity(self) -> str:
        """The identity that its files carry."""
        return self.folder.identity() or identity_of(self.config, self.data)

    def own(self, rows: Sequence[Row]) -> list[Row]:
        """Its rows among the ensemble's, as it has them alone."""
        return [self.run.row_alone(row) for row in rows if row["member"] == self.run.member]


def split_ensemble(ensemble: RunFolder, cells: Mapping[str, RunFolder]) -> None:
    """Give every member a folder of its own: weights, rows, its state, then its manifest.

    It can be repeated after a kill. A cell that is already at this step, or past it, is unchanged.
    """
    manifest, state = ensemble.manifest() or {}, ensemble.load_resume() or {}
    parts, step = _parts_of(ensemble, manifest, cells, state), ensemble.resume_step()
    behind = [part for part in parts if not _is_past(part.folder, step)]
    tables = {
        table: [row for row in ensemble.rows(table) if int(row["step"]) <= step]
        for table in ensemble.tables() & ensemble.own_tables()
    }
    measured = tables.get("metrics", [])
    for name, reached in ensemble.checkpoints().items():
        if reached <= step:
            early = reached == step and any(part.ended for part in parts)
            whose = [one for one in behind if one.ended or not early or _keeps(one.run, measured)]
            _split_checkpoint(ensemble.load_checkpoint(name), name, whose)
            ensemble.remove_checkpoint(name)  # all have it: the disk never holds every one twice
    for table, rows in tables.items():
        for part in behind:
            part.folder.write_rows(part.own(rows), table)
    for part in behind:
        part.folder.tidy(identity=part.identity)
        part.folder.save_resume(member_state(state, part.index), step, identity=part.identity)
        part.folder.write_manifest(_manifest_of(part, manifest, measured))
        settle(part.folder.path)  # the caller removes the ensemble


def _parts_of(
    ensemble: RunFolder,
    manifest: Mapping[str, Any],
    cells: Mapping[str, RunFolder],
    state: Mapping[str, Tensor],
) -> list[_Part]:
    """The members of an ensemble, if its manifest is that of these cells."""
    try:
        kind = KINDS[manifest["kind"]]
        runs = [kind.read(one, ensemble) for one in manifest["config"]["members"]]
        data = [run.data_alone(manifest["data"]) for run in runs]
        if [run.member for run in runs] != list(cells):
            raise ValueError("it has other members")
        ended = too_small(state["rate"], runs[0].recipe).tolist()
    except (EspalierError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(
            f"{ensemble.path / MANIFEST} is not that of an ensemble of {', '.join(cells)}; "
            f"correct it, or remove the folder to train its cells again"
        ) from error
    members = manifest["config"]["members"]
    rest = zip(runs, cells.values(), members, data, ended, strict=True)
    return [_Part(index, *one) for index, one in enumerate(rest)]


def _is_past(cell: RunFolder, step: int) -> bool:
    """Whether a cell is further than this step, or ended there."""
    reached = cell.resume_step()
    return reached > step or (reached == step and has_ended(cell))


def has_ended(cell: RunFolder) -> bool:
    """Whether its run is finished."""
    manifest = cell.manifest()
    return manifest is not None and manifest["status"] == "finished"


def _keeps(run: Groupable, measured: Sequence[Row]) -> bool:
    """Whether the run saves its weights at the step of its last row."""
    plan, step = run.plan(), int(measured[-1]["step"])
    per_epoch = round(step / float(measured[-1]["epoch"]))
    sizes = {"epochs": plan.epochs, "steps_per_epoch": per_epoch}
    return any(step in steps_of(one, **sizes) for one in plan.keep)


def _split_checkpoint(weights: Snapshot, name: str, whose: Sequence[_Part]) -> None:
    """Write each member's own, flushed to disk: the ensemble's are removed next."""
    # Members of a group share their dropout: it is in the shape.
    ensembles = ("members", "dropout", "metrics")
    metadata = {key: v for key, v in weights.metadata.items() if key not in ensembles}
    measured = json.loads(weights.metadata.get("metrics", "[]"))
    for part in whose:
        own = {key: tensor[part.index].clone() for key, tensor in weights.tensors.items()}
        metrics = json.dumps(part.own(measured))
        snapshot = Snapshot(own, metadata | {"metrics": metrics})
        settle(part.folder.save_checkpoint(name, snapshot, identity=part.identity))


def _manifest_of(
    part: _Part, manifest: Mapping[str, Any], measured: Sequence[Row]
) -> dict[str, Any]:
    """The manifest of one cell, from its ensemble's manifest and measures."""
    kept = list(part.folder.checkpoints())
    at_end = max((row["epoch"] for row in measured), default=0) == part.run.plan().epochs
    ended = manifest["status"] == "finished" and (part.ended or at_end)
    found = {
        **manifest,
        "config": part.config,
        "data": part.data,
        "trained_beside": len(manifest["config"]["members"]) - 1,
        "status": "finished" if ended else "interrupted",
    }
    found = with_identity(found, part.identity, identity_of(part.config, part.data))
    if ended and kept:
        return found | {"last_checkpoint": kept[-1]}
    return {name: value for name, value in found.items() if name != "last_checkpoint"}
