"""Cells of a sweep trained: as ensembles, by local processes, or on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from espalier.runs import (
    Progress,
    RunFolder,
    in_processes,
    on_cluster,
    refuse_other_config,
)
from espalier.training.sweep.ensembles import train_group
from espalier.training.sweep.grid import Cell, Sweep
from espalier.training.train import manifest_config, train


def run_sweep(
    sweep: Sweep,
    *,
    device: str = "auto",
    cluster: str | None = None,
    progress: Progress | None = None,
) -> list[Path]:
    """The folder of every cell, after those that had not finished were trained.

    `cluster` is the address of a dask scheduler whose workers see the same files.

    >>> run_sweep(Sweep(Path("runs/none"), ()))
    []
    """
    todo = pending(sweep)
    jobs = [(cell, str((sweep.out / cell.name).resolve())) for cell in todo]
    if cluster is not None:
        on_cluster(train_cell, jobs, address=cluster)
    elif sweep.workers:
        for _ in in_processes(train_cell, jobs, workers=sweep.workers):
            pass
    else:
        _train_groups(sweep.out, todo, device=device, progress=progress)
    return [sweep.out / cell.name for cell in sweep.cells]


def pending(sweep: Sweep) -> list[Cell]:
    """Cells that have not finished as they are asked for; another run in a folder is refused."""
    found = [cell for cell in sweep.cells if not is_finished(sweep.out / cell.name, cell)]
    for cell in found:
        folder = RunFolder(sweep.out / cell.name)
        manifest = folder.manifest()
        if manifest is not None:
            refuse_other_config(folder, manifest["config"], manifest_config([cell.config()]))
    return found


def is_finished(folder: Path, cell: Cell) -> bool:
    """Whether the folder holds the run of this cell, trained to its end."""
    manifest = RunFolder(folder).manifest()
    return (
        manifest is not None
        and manifest["status"] == "finished"
        and manifest["config"] == manifest_config([cell.config()])
    )


def train_cell(cell: Cell, folder: str) -> str:
    """Train one cell in this process, on one thread; return its folder."""
    torch.set_num_threads(1)
    train(cell.config(), folder, device="cpu")
    return folder


def _train_groups(
    out: Path, cells: Sequence[Cell], *, device: str, progress: Progress | None
) -> None:
    """Train every cell; those that can be members of one ensemble, from the same step on, are."""
    groups: dict[object, list[Cell]] = {}
    for cell in cells:
        shared, step = cell.config().shared(), RunFolder(out / cell.name).resume_step()
        groups.setdefault((shared, step) if shared else cell.name, []).append(cell)
    for group in groups.values():
        folders = {out / cell.name: cell.config() for cell in group}
        if len(group) > 1:
            train_group(out, folders, device=device, progress=progress)
        else:
            train(*folders.values(), *folders, device=device, progress=progress)
