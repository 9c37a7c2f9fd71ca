"""Models that were trained to be a program, read back."""

from __future__ import annotations

import os

from espalier.errors import ModelError
from espalier.language import Program
from espalier.language.records import program_hash
from espalier.training.finished import Kept, finished_run, read_last


def read_run(path: str | os.PathLike[str], kind: str, program: Program) -> Kept:
    """A finished run of this kind, if it was one for this very program."""
    folder, manifest = finished_run(path, kind)
    if manifest["data"].get("program_sha256") != program_hash(program):
        raise ModelError(
            f"{path} was trained on the traces of another program; give the one it was trained on"
        )
    return read_last(folder, manifest["config"]["settings"]["recipe"]["measures"])
