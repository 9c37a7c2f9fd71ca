"""The runs of a folder, as rows for a table."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass

from espalier.errors import FileError
from espalier.files import MANIFEST, as_path
from espalier.runs.folder import RunFolder
from espalier.runs.lock import locked
from espalier.runs.progress import averages, latest


@dataclass(frozen=True)
class RunSummary:
    """What a run is, how far it was trained, and the mean of its last measures over members.

    >>> RunSummary("k8", "scaffold", "finished", 1, 2.0, 2, {"train_loss": 0.5}).status
    'finished'
    """

    name: str
    kind: str
    status: str
    members: int
    epoch: float
    epochs: int
    measures: dict[str, float]
    trouble: str = ""  # why it cannot be read


def list_runs(folder: str | os.PathLike[str]) -> list[RunSummary]:
    """Every run at or below a folder, by name; lines of finished runs become Parquet.

    One that cannot be read is listed as damaged, with the reason as its `trouble`.

    >>> import tempfile
    >>> list_runs(tempfile.mkdtemp())
    []
    """
    root = as_path(folder)
    if not root.is_dir():
        raise FileError(f"there is no folder {root}; runs are where --out put them")
    found = sorted(file.parent for file in root.rglob(MANIFEST))
    return [_summary(RunFolder(path), str(path.relative_to(root))) for path in found]


def _summary(run: RunFolder, name: str) -> RunSummary:
    try:
        return _read(run, name)
    except (OSError, KeyError, TypeError, ValueError, OverflowError) as error:
        match error:
            case OSError():
                why = str(error)
            case KeyError():
                why = f"its measures lack {error}"
            case _:
                why = f"its epochs or measures are no numbers ({error})"
        return RunSummary(name, "?", "damaged", 0, 0.0, 0, {}, why)


def _read(run: RunFolder, name: str) -> RunSummary:
    manifest = run.manifest() or {}
    if manifest.get("status") == "finished":
        with suppress(FileError), locked(run.path):  # neither while it is in use, nor if read-only
            run.tidy()
    last = latest(run.rows())
    return RunSummary(
        name=name,
        kind=manifest["kind"],
        status=manifest["status"],
        members=max(1, len(last)),
        epoch=float(last[0]["epoch"]) if last else 0.0,
        epochs=int(manifest.get("epochs", 0)),
        measures=averages(last),
    )
