"""Folders of a sweep's cells before any is trained: under another name, a link, still in use."""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from espalier.errors import FileError
from espalier.runs import LOCK, MANIFEST, FolderHeldError, RunFolder, locked
from espalier.training.sweep.grid import Cell, Sweep
from espalier.training.train import manifest_config

WAIT_SECONDS = 5.0  # for workers that outlive a killed sweep: they look for it twice a second
AGAIN_SECONDS = 0.1


def warn_of_renamed(sweep: Sweep, cells: Sequence[Cell]) -> None:
    """Warn if some of these cells have no run, and a folder that is no cell's has their settings.

    The settings of a grid may be moved and put into another order, which gives cells other names.
    """
    runs = dict(_runs_beside(sweep))
    if not runs:
        return
    found = [
        (cell.name, runs[mark])
        for cell in cells
        if not (sweep.out / cell.name / MANIFEST).exists()
        and (mark := _mark(cell.kind, manifest_config([cell.config()]))) in runs
    ]
    if found:
        (name, other), more = found[0], len(found) - 1
        others = f" ({more} other cells are in such folders too)" if more else ""
        warnings.warn(
            f"{sweep.out / other} holds a run with the settings of cell {name!r}, which is trained "
            f"again in {sweep.out / name}{others}; to use that run, stop this and rename its "
            f"folder to {name}",
            stacklevel=3,
        )


def refuse_broken_link(path: Path) -> None:
    """Raise if a cell's folder is a link to what is not there."""
    if path.is_symlink() and not path.exists():
        raise FileError(
            f"{path} is a link to {os.readlink(path)}, which is not there; make that folder, or "
            f"remove the link"
        )


def wait_for_workers(sweep: Sweep, cells: Sequence[Cell]) -> None:
    """Wait, for some seconds, until no other process works on the folders of these cells."""
    until = time.monotonic() + WAIT_SECONDS
    for cell in cells:
        folder = sweep.out / cell.name
        while (folder / LOCK).exists() and _is_held(folder) and time.monotonic() < until:
            time.sleep(AGAIN_SECONDS)


def _is_held(folder: Path) -> bool:
    """Whether another process works on a folder; the lock of one that ended is removed."""
    try:
        with locked(folder):
            return False
    except FolderHeldError:
        return True


def _runs_beside(sweep: Sweep) -> Iterator[tuple[str, str]]:
    """The settings and the names of folders that hold runs and are no cell's."""
    names = {cell.name for cell in sweep.cells}
    there: list[str] = []
    with suppress(OSError):  # it is not there yet
        there = os.listdir(sweep.out)
    for name in there:
        if name in names or name.startswith("."):
            continue
        with suppress(FileError, OSError):  # damaged, or not ours to read
            manifest = RunFolder(sweep.out / name).manifest()
            if manifest is not None:
                yield _mark(manifest["kind"], manifest["config"]), name


def _mark(kind: str, config: dict[str, Any]) -> str:
    """Equal for equal settings."""
    return json.dumps([kind, config], sort_keys=True)
