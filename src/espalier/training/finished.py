"""What a finished run of stacked models left: its rows, and the weights after its last step."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from espalier.errors import FileError, ModelError
from espalier.nets.lstm import read_tensors
from espalier.runs import Row, RunFolder, averages, latest

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False)
class Kept:
    """What a finished run left: rows, the members' stacked weights, and what is said of them."""

    rows: tuple[Row, ...]
    tensors: dict[str, Tensor]
    metadata: dict[str, str]


def finished_run(path: str | os.PathLike[str], kind: str) -> tuple[RunFolder, dict[str, Any]]:
    """The folder and manifest of a run of this kind that came to its end."""
    folder = RunFolder(Path(path))
    manifest: Any = folder.manifest()
    found = manifest if isinstance(manifest, dict) else {}
    if not found:
        why = "no run is there; train one with out= first"
    elif found.get("kind") != kind:
        why = f"the run there is of kind {found.get('kind')!r}"
    elif found.get("status") != "finished":
        why = f"the one there is {found.get('status')!s}; training with the same settings goes on"
    else:
        return folder, found
    raise ModelError(f"{path} holds no finished run of kind {kind!r}: {why}")


def read_last(folder: RunFolder, measures: int) -> Kept:
    """The rows of a finished run, and its checkpoint at the last of so many measures."""
    file = folder.path / f"epoch-{measures}.safetensors"
    if not file.is_file():
        raise FileError(
            f"there is no file {file}, the last checkpoint of the run; copy it there, or give the "
            f"command that trained it again: it is written from the point to resume from"
        )
    tensors, metadata = read_tensors(file)
    return Kept(tuple(folder.rows()), tensors, metadata)


class Measured:
    """Something with `rows`: a table of them, and the last measures in words."""

    rows: tuple[Row, ...]

    def to_frame(self) -> pandas.DataFrame:
        """One row a member and measure."""
        import pandas as pd

        return pd.DataFrame(self.rows)

    def last_measures(self) -> str:
        """Means over members at the last step."""
        last = latest(self.rows)
        found = "  ".join(f"{name} {value:.4g}" for name, value in averages(last).items())
        return f"after {last[0]['step']:,} steps  {found}" if last else "not trained"
