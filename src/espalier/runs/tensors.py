"""A run's files of tensors: which run's they are, and the step at which they were written."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from espalier.errors import FileError, ModelError
from espalier.files import check_readable
from espalier.runs.learner import Row, Snapshot
from espalier.runs.rows import IDENTITY, is_own


@dataclass(frozen=True)
class TensorFile:
    """A file of tensors in the folder of a run with this identity; runs of before say none.

    >>> TensorFile(Path("epoch-1.safetensors"), None).step() is None  # there is no such file
    True
    """

    path: Path
    identity: str | None

    def step(self) -> int | None:
        """The step written in it; None if there is no such file, or it is damaged.

        The weights before training say none.
        """
        try:
            said = self.metadata()
            return None if said is None else int(said.get("step", 0))
        except ValueError:
            return None

    def measures(self) -> list[Row]:
        """The rows that were measured when it was written, if it says them."""
        try:
            found = json.loads((self.metadata() or {}).get("metrics", "[]"))
        except (ValueError, RecursionError):
            return []
        of_rows = isinstance(found, list) and all(isinstance(row, dict) for row in found)
        return found if of_rows else []

    def metadata(self) -> dict[str, str] | None:
        """What is written in it beside tensors; None if it cannot be read."""
        from safetensors import SafetensorError, safe_open

        if not self.path.is_file():  # a pipe would be waited for
            return None
        try:
            with safe_open(self.path, "np") as opened:  # which needs no torch
                return dict(opened.metadata() or {})
        except (OSError, SafetensorError):
            return None

    def load(self, remedy: str) -> Snapshot:
        """What is in it, if that is as it was written, by this run."""
        from espalier.nets import CHECKSUMS, check_checksums, read_safetensors

        check_readable(self.path)
        try:
            tensors, metadata = read_safetensors(self.path)
            check_checksums(tensors, metadata)
        except ModelError as error:
            raise FileError(f"{self.path} is damaged ({error}); {remedy}") from error
        except FileError as error:
            raise FileError(f"{error}; {remedy}") from error
        is_own(self.path, metadata.get(IDENTITY), self.identity, remedy)
        metadata = {key: v for key, v in metadata.items() if key not in (CHECKSUMS, IDENTITY)}
        return Snapshot(tensors, metadata)

    def save(self, snapshot: Snapshot) -> Path:
        """Replace it."""
        from espalier.nets import write_safetensors

        own = {} if self.identity is None else {IDENTITY: self.identity}
        write_safetensors(self.path, snapshot.tensors, snapshot.metadata | own)
        return self.path

    def is_own(self) -> bool:
        """Whether it says that it is its folder's run's; that of another is refused.

        What cannot be read is for `load` to tell.
        """
        return is_own(self.path, (self.metadata() or {}).get(IDENTITY), self.identity, "remove it")
