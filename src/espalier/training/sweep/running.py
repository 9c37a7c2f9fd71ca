"""Cells of a sweep trained: as ensembles, by local processes, or on a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

import torch

from espalier.errors import EspalierError
from espalier.runs import (
    HERE,
    AnyWorkers,
    Interrupted,
    Job,
    LostWorkersError,
    Progress,
    RunFolder,
    Workers,
    choose_device,
    locked,
    refuse_other_config,
    refuse_other_data,
    run_jobs,
)
from espalier.training.sweep.ensembles import (
    ensembles_in,
    groups_of,
    split_ensembles,
    train_group,
)
from espalier.training.sweep.folders import (
    refuse_broken_link,
    wait_for_workers,
    warn_of_renamed,
)
from espalier.training.sweep.grid import Cell, Sweep
from espalier.training.sweep.watching import watched
from espalier.training.train import Trainable, manifest_config, refuse_without_state, train


def run_sweep(
    sweep: Sweep,
    *,
    device: str = "auto",
    cluster: str | None = None,
    workers: AnyWorkers | None = None,
    progress: Progress | None = None,
) -> list[Path]:
    """Train the cells that are not finished; return the folder of every cell.

    `cluster` is the address of a dask scheduler whose workers see the same files; `workers` take
    the place of the sweep's own.

    >>> run_sweep(Sweep(Path("runs/none"), ()))
    []
    """
    shared = _workers(sweep, workers, cluster)
    pending(sweep)  # another run in a cell's folder is refused before anything is written
    with locked(RunFolder.create(sweep.out).path) if sweep.cells else nullcontext():
        split_ensembles(sweep.out)
        todo = pending(sweep)
        if shared == HERE:
            wait_for_workers(sweep, todo)
            _train_groups(sweep.out, todo, device=device, progress=progress)
        else:
            _train_apart(sweep.out, todo, shared, device=device, progress=progress)
    return [sweep.out / cell.name for cell in sweep.cells]


def _workers(sweep: Sweep, workers: AnyWorkers | None, cluster: str | None) -> Workers:
    """The workers given, or the sweep's own."""
    if workers is None:
        workers = 0 if cluster else sweep.workers
    return Workers.of(workers, cluster)


def train_ensembles(
    out: Path, runs: Mapping[Path, Trainable], *, device: str, progress: Progress | None = None
) -> None:
    """Train runs, given by their folders in `out`, as ensembles; those that cannot be are left.

    Ensembles that were left behind there are split first.

    >>> train_ensembles(Path("runs/none"), {}, device="cpu")
    """
    where = choose_device(device)
    if not (ensembles_in(out) or any(len(group) > 1 for group in groups_of(runs, where))):
        return
    with locked(RunFolder.create(out).path):
        split_ensembles(out)
        left = {path: run for path, run in runs.items() if is_pending(path, run)}
        for group in groups_of(left, where):
            if len(group) > 1:
                train_group(out, group, device=device, progress=progress)


def pending(sweep: Sweep) -> list[Cell]:
    """Cells that are not finished with these settings; another run in a folder is refused.

    So is a cell whose run is in a folder of another name.
    """
    found = [cell for cell in sweep.cells if is_pending(sweep.out / cell.name, cell.config())]
    warn_of_renamed(sweep, found)
    return found


def is_pending(path: Path, run: Trainable) -> bool:
    """Whether a run is not finished with these settings; another in its folder is refused."""
    folder, asked = RunFolder(path), manifest_config([run])
    manifest = folder.manifest()
    if manifest is not None:
        refuse_other_config(folder, {"kind": manifest["kind"]}, {"kind": run.kind})
        refuse_other_config(folder, manifest["config"], asked)
        refuse_other_data(folder, manifest["data"], run.digests())
        if manifest["status"] == "finished" and manifest["config"] == asked:
            return False
    else:
        refuse_broken_link(path)
    refuse_without_state(folder)
    return True


def is_finished(folder: Path, cell: Cell) -> bool:
    """Whether the folder holds the run of this cell, trained to its end."""
    manifest = RunFolder(folder).manifest()
    return (
        manifest is not None
        and manifest["status"] == "finished"
        and manifest["config"] == manifest_config([cell.config()])
    )


def train_cell(cell: Cell, folder: str, device: str) -> str:
    """Train one cell in this process, on one thread; return what was wrong, if anything was."""
    torch.set_num_threads(1)
    if is_finished(Path(folder), cell):  # by a worker that died before it could report it
        return ""
    try:
        train(cell.config(), folder, device=device)
    except EspalierError as error:
        return f"{cell.name}: {error}"
    return ""


def _train_apart(
    out: Path, cells: Sequence[Cell], workers: Workers, *, device: str, progress: Progress | None
) -> None:
    """Train every cell in a process of its own; failures are reported when all have ended.

    On CPUs, unless a device is named: a cluster's workers with one are tagged.
    """
    device = "cpu" if device == "auto" else device
    jobs = [
        Job(cell.name, (cell, str((out / cell.name).absolute()), device), gpu=device != "cpu")
        for cell in cells
    ]
    wrong: list[str] = []
    with watched(out, cells, progress):
        try:
            for _, trouble in run_jobs(train_cell, jobs, workers):
                wrong += [trouble] if trouble else []
        except LostWorkersError as lost:
            wrong += [f"{job.name}: {why}" for job, why in lost.jobs]
        except KeyboardInterrupt as stopped:
            done = sum(is_finished(out / cell.name, cell) for cell in cells)
            raise Interrupted(
                f"interrupted; {done} of {len(cells)} cells were finished in {out}, and the same "
                f"command trains the others"
            ) from stopped
    if wrong:
        others = ", the others did" if len(wrong) < len(cells) else ""
        raise EspalierError(
            f"{len(wrong)} of {len(cells)} cells did not finish{others}: "
            f"{'; '.join(wrong)}. The same command resumes them"
        )


def _train_groups(
    out: Path, cells: Sequence[Cell], *, device: str, progress: Progress | None
) -> None:
    """Train every cell, as ensembles where cells at the same step can be members of one."""
    folders = {out / cell.name: cell.config() for cell in cells}
    for group in groups_of(folders, choose_device(device)):
        if len(group) > 1:
            train_group(out, group, device=device, progress=progress)
        else:
            train(*group.values(), *group, device=device, progress=progress)
