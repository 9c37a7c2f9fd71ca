"""Cells of a sweep by separate processes: joblib here, dask.distributed on many machines.

A cell is a folder that can be gone on with, so a killed worker costs the steps since its last
save and nothing else: the cell is given to another, which resumes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from espalier.errors import ConfigError

if TYPE_CHECKING:
    from espalier.training.sweep import Cell

Result = TypeVar("Result")


def train_cell(kind: str, settings: Mapping[str, Any], folder: str, *, device: str = "cpu") -> str:
    """Train one cell in this process, on one thread if on the CPU; return its folder."""
    import torch

    from espalier.training.configs import override
    from espalier.training.scaffold import ScaffoldRun, train_scaffold
    from espalier.training.text import TextRun, train_text

    if device == "cpu":
        torch.set_num_threads(1)
    if kind == "scaffold":
        train_scaffold(override(ScaffoldRun(), settings), out=folder, device=device)
    else:
        train_text(override(TextRun(), settings), out=folder, device=device)
    return folder


def with_joblib(out: Path, cells: Sequence[Cell], *, workers: int) -> None:
    """Train cells by that many processes of this machine."""
    jobs = [(c.kind, dict(c.settings), str(out / c.name)) for c in cells]
    for _ in in_processes(train_cell, jobs, workers=workers):
        pass


def in_processes(
    function: Callable[..., Result], jobs: Iterable[tuple[Any, ...]], *, workers: int
) -> Iterator[Result]:
    """What `function` gives for each job, in any order, by processes that end with the last.

    Idle processes would hold memory for minutes, and may end just when the next job comes.
    """
    try:
        from joblib import Parallel, delayed
        from joblib.externals.loky import get_reusable_executor
    except ImportError as error:
        raise ConfigError(
            "several processes need joblib: pip install joblib, or ask for one worker"
        ) from error
    pool = Parallel(n_jobs=workers, return_as="generator_unordered")
    try:
        yield from pool(delayed(function)(*job) for job in jobs)
    finally:
        get_reusable_executor().shutdown(wait=True, kill_workers=True)


def on_cluster(out: Path, cells: Sequence[Cell], *, address: str) -> None:
    """Train cells on a dask cluster; a cell whose worker dies is resumed by another."""
    try:
        from distributed import Client
    except ImportError as error:
        raise ConfigError("a cluster needs dask: pip install 'espalier[cluster]'") from error
    try:
        client: Any = Client(address, timeout="5s")
    except OSError as error:
        raise ConfigError(f"no dask scheduler answers at {address}: {error}") from error
    with client:
        futures = [
            client.submit(
                train_cell,
                c.kind,
                dict(c.settings),
                str((out / c.name).resolve()),
                pure=False,
                retries=2,
            )
            for c in cells
        ]
        client.gather(futures)
