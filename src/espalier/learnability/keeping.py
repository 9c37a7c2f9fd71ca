"""Models that were trained to be a program: what was measured, and reading them back."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from torch import Tensor

from espalier.errors import ModelError
from espalier.language import Program
from espalier.language.records import program_hash
from espalier.nets.files import read_tensors
from espalier.training.folder import RunFolder
from espalier.training.learner import Row
from espalier.training.progress import averages, latest

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False)
class Kept:
    """What a finished run left: rows, the members' stacked weights, and what is said of them."""

    rows: tuple[Row, ...]
    tensors: dict[str, Tensor]
    metadata: dict[str, str]


def read_run(path: str | os.PathLike[str], kind: str, program: Program) -> Kept:
    """A finished run of this kind, if it was one for this very program."""
    folder = RunFolder(Path(path))
    manifest = folder.manifest()
    if manifest is None or manifest.get("kind") != kind or manifest["status"] != "finished":
        raise ModelError(
            f"{path} holds no finished run of kind {kind!r}; train one with out= first"
        )
    if manifest["data"].get("program_sha256") != program_hash(program):
        raise ModelError(
            f"{path} was trained on the traces of another program; give the one it was trained on"
        )
    last = manifest["config"]["settings"]["recipe"]["measures"]
    tensors, metadata = read_tensors(folder.path / f"epoch-{last}.safetensors")
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
