"""A sweep: a table of configs, each cell a run in a folder of its own; finished cells are skipped.

Cells that can share kernels are trained as one ensemble and then split into their folders; the
others, or all if asked, are trained by local workers or on a dask cluster. However a cell was
computed, its folder looks the same.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch

from espalier.errors import ConfigError, nearest
from espalier.runs import Progress, RunFolder, in_processes, on_cluster
from espalier.training.configs import flatten, override, read_toml
from espalier.training.scaffold import ScaffoldRun, train_scaffold
from espalier.training.text import TextRun, train_text

Kind = Literal["scaffold", "text"]
KINDS: dict[str, Callable[[], ScaffoldRun | TextRun]] = {"scaffold": ScaffoldRun, "text": TextRun}


@dataclass(frozen=True)
class Cell:
    """One run of a sweep: its folder's name and the settings that differ from the defaults."""

    name: str
    kind: Kind
    settings: Mapping[str, Any] = field(hash=False)

    def run(self) -> ScaffoldRun | TextRun:
        """The whole config; every setting is checked."""
        return override(KINDS[self.kind](), self.settings)


@dataclass(frozen=True)
class Sweep:
    """Cells, where they go, and how they are computed."""

    out: Path
    cells: tuple[Cell, ...]
    workers: int = 0  # 0: as ensembles where possible; else that many local processes

    def pending(self) -> list[Cell]:
        """Cells that have not finished yet."""
        return [cell for cell in self.cells if not is_finished(self.out / cell.name)]


def read_sweep(path: str | os.PathLike[str]) -> Sweep:
    """A sweep from TOML: `kind`, `out`, `workers`, settings, and the table `grid` of lists."""
    table = read_toml(path)
    known = {"kind", "out", "workers", "grid", *flatten_roots()}
    unknown = [name for name in table if name not in known]
    if unknown:
        raise ConfigError(
            f"{path}: there is no setting {unknown[0]!r}; {nearest(unknown[0], known)}"
        )
    kind = table.pop("kind", "scaffold")
    if kind not in KINDS:
        raise ConfigError(f"{path}: kind is {kind!r}; {nearest(kind, KINDS)}")
    out = Path(table.pop("out", Path("runs") / Path(path).stem))
    workers = table.pop("workers", 0)
    if type(workers) is not int or workers < 0:
        raise ConfigError(f"{path}: workers is {workers!r}; give a number of processes, or 0")
    grid = flatten(table.pop("grid", {}))
    return Sweep(out, make_cells(kind, flatten(table), grid), workers)


def flatten_roots() -> set[str]:
    """The first words of every setting of every kind."""
    return {name for make in KINDS.values() for name in make().to_dict()}


def make_cells(
    kind: Kind, base: Mapping[str, Any], grid: Mapping[str, Sequence[Any]]
) -> tuple[Cell, ...]:
    """Every combination of the grid's values over the base; each is checked before any is run."""
    for name, values in grid.items():
        if not isinstance(values, list | tuple) or not values:
            raise ConfigError(f"grid.{name} is {values!r}; a list of values is expected")
    cells = []
    for values in itertools.product(*grid.values()):
        chosen = dict(zip(grid, values, strict=True))
        name = "-".join(f"{key.rpartition('.')[2]}={value}" for key, value in chosen.items())
        cells.append(Cell(name or kind, kind, {**base, **chosen}))
    for cell in cells:
        cell.run()
    return tuple(cells)


def is_finished(folder: Path) -> bool:
    """Whether the folder holds a run that came to its end."""
    manifest = RunFolder(folder).manifest() if folder.is_dir() else None
    return manifest is not None and manifest["status"] == "finished"


def train_cell(cell: Cell, folder: str) -> str:
    """Train one cell in this process, on one thread; return its folder."""
    torch.set_num_threads(1)
    run = cell.run()
    if isinstance(run, ScaffoldRun):
        train_scaffold(run, out=folder, device="cpu")
    else:
        train_text(run, out=folder, device="cpu")
    return folder


def run_sweep(
    sweep: Sweep,
    *,
    device: str = "auto",
    cluster: str | None = None,
    progress: Progress | None = None,
) -> list[Path]:
    """Train what is pending and return every cell's folder.

    `cluster` is the address of a dask scheduler whose workers see the same files.
    """
    sweep.out.mkdir(parents=True, exist_ok=True)
    pending = sweep.pending()
    jobs = [(cell, str((sweep.out / cell.name).resolve())) for cell in pending]
    if cluster is not None:
        on_cluster(train_cell, jobs, address=cluster)
    elif sweep.workers:
        for _ in in_processes(train_cell, jobs, workers=sweep.workers):
            pass
    else:
        from espalier.training.together import train_together

        train_together(sweep.out, pending, device=device, progress=progress)
    return [sweep.out / cell.name for cell in sweep.cells]
