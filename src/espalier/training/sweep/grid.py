"""The cells of a sweep, read from TOML: settings, and a grid of those that vary."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from espalier.errors import ConfigError, listed, nearest
from espalier.runs import AtEpochs, AtSteps, Schedule
from espalier.training.parity import ParityRun
from espalier.training.scaffold import ScaffoldRun
from espalier.training.scan import ScanRun
from espalier.training.settings import flatten, override, read_toml
from espalier.training.text import TextRun
from espalier.training.train import Trainable

KINDS: dict[str, type[Trainable]] = {
    one.kind: one for one in (ScaffoldRun, TextRun, ParityRun, ScanRun)
}
MOST = 100_000  # cells of a grid: each is checked, and named, before any is trained


@dataclass(frozen=True)
class Cell:
    """One run of a sweep: its folder's name and the settings that differ from the defaults.

    >>> Cell("long", "scaffold", {"corpus.length": 8}).config().corpus.length
    8
    """

    name: str
    kind: str
    settings: Mapping[str, Any] = field(hash=False)

    def config(self) -> Any:
        """The whole config; every setting is checked."""
        return override(KINDS[self.kind](), self.settings)


@dataclass(frozen=True)
class Sweep:
    """Cells, where they go, and how they are computed.

    >>> Sweep(Path("runs/lengths"), make_cells("scaffold", {}, {"corpus.length": [2, 4]})).cells[1]
    Cell(name='length=4', kind='scaffold', settings={'corpus.length': 4})
    """

    out: Path
    cells: tuple[Cell, ...]
    workers: int = 0  # 0: as ensembles where possible; else that many local processes


def read_sweep(path: str | os.PathLike[str]) -> Sweep:
    """A sweep from TOML: `kind`, `out`, `workers`, settings, and the table `grid` of lists.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "lengths.toml")
    >>> _ = file.write_text("[grid]\\ncorpus.length = [2, 4]")
    >>> [cell.name for cell in read_sweep(file).cells]
    ['length=2', 'length=4']
    """
    table = read_toml(path)
    kind = table.pop("kind", "scaffold")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ConfigError(f"{path}: kind is {kind!r}; {nearest(kind, KINDS)}")
    known = {"kind", "out", "workers", "grid", *KINDS[kind]().to_dict()}
    unknown = [name for name in table if name not in known]
    if unknown:
        raise ConfigError(
            f"{path}: there is no setting {unknown[0]!r}; {nearest(unknown[0], known)}"
        )
    out = table.pop("out", str(Path("runs") / Path(path).stem))
    if not isinstance(out, str) or not out or "\0" in out:
        raise ConfigError(f"{path}: out is {out!r}; give the name of a folder, in quotes")
    workers = table.pop("workers", 0)
    if type(workers) is not int or workers < 0:
        raise ConfigError(f"{path}: workers is {workers!r}; give a number of processes, or 0")
    grid = table.pop("grid", {})
    if not isinstance(grid, dict):
        raise ConfigError(f"{path}: grid is {grid!r}; a table of settings and lists is expected")
    grid = flatten(grid)
    return Sweep(Path(out), make_cells(kind, flatten(table), grid), workers)


def make_cells(
    kind: str, base: Mapping[str, Any], grid: Mapping[str, Sequence[Any]]
) -> tuple[Cell, ...]:
    """Every combination of the grid's values over the base; each is checked before any is run.

    >>> [cell.name for cell in make_cells("text", {"seed": 1}, {"network.hidden": [8, 16]})]
    ['hidden=8', 'hidden=16']
    """
    for name, values in grid.items():
        if not isinstance(values, list | tuple) or not values:
            raise ConfigError(f"grid.{name} is {values!r}; a list of values is expected")
    count = math.prod(map(len, grid.values()))
    if count > MOST:
        raise ConfigError(
            f"the grid has {count:,} cells; at most {MOST:,} are made: leave out values, or vary "
            f"fewer settings ({listed(grid, most=8)})"
        )
    cells = []
    for values in itertools.product(*grid.values()):
        chosen = dict(zip(grid, values, strict=True))
        name = "-".join(f"{key.rpartition('.')[2]}={value}" for key, value in chosen.items())
        name = name.replace("/", "_").replace(os.sep, "_")  # one folder, in that of the sweep
        cells.append(Cell(name or kind, kind, {**base, **chosen}))
    _refuse_duplicates(cells)
    return tuple(cells)


def _refuse_duplicates(cells: Sequence[Cell]) -> None:
    """Raise if two cells are the same run, or would share a folder; every cell is checked."""
    names: dict[str, str] = {}
    for cell in cells:
        config = cell.config()
        for mark in (f"name {cell.name}", _settings_of(config)):
            if mark in names:
                raise ConfigError(
                    f"cell {cell.name!r} is asked for twice (the other is {names[mark]!r}); leave "
                    f"one of them out of the grid"
                )
            names[mark] = cell.name


def _settings_of(config: Any) -> str:
    """Equal for equal runs, also where checkpoints are asked for in other words."""
    saved = _in_order(config.plan().keep)
    return f"{replace(config, keep='epoch') if hasattr(config, 'keep') else config!r} {saved}"


def _in_order(keep: Sequence[Schedule]) -> list[Any]:
    """Schedules in an order of their own, each once; steps that are named are put together."""
    steps = {step for one in keep if isinstance(one, AtSteps) for step in one.steps}
    epochs = {epoch for one in keep if isinstance(one, AtEpochs) for epoch in one.epochs}
    others = {repr(one) for one in keep if not isinstance(one, AtSteps | AtEpochs)}
    return [sorted(others), sorted(steps), sorted(epochs)]
