"""A run's files of tensors: the run they belong to, and the step at which they were written."""

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
    """A file of tensors in the folder of a run with this identity; earlier versions had none.

    >>> TensorFile(Path("epoch-1.safetensors"), None).step() is None  # there is no such file
    True
    """

    path: Path
    identity: str | None

    def step(self) -> int | None:
        """The step written in it; None if there is no such file, or it is damaged.

        The weights before training have no such entry, and are of step 0.
        """
        try:
            said = self.metadata()
            return None if said is None else int(said.get("step", 0))
        except ValueError:
            return None

    def measures(self) -> list[Row]:
        """The rows that were measured when it was written, if it stores them."""
        try:
            found = json.loads((self.metadata() or {}).get("metrics", "[]"))
        except (ValueError, RecursionError):
            return []
        of_rows = isinstance(found, list) and all(isinstance(row, dict) for row in found)
        return found if of_rows else []

    def metadata(self) -> dict[str, str] | None:
        """Its metadata; None if it cannot be read."""
        from safetensors import SafetensorError, safe_open

        if not self.path.is_file():  # opening a pipe would block
            return None
        try:
            with safe_open(self.path, "np") as opened:  # which needs no torch
                return dict(opened.metadata() or {})
        except (OSError, SafetensorError):
            return None

    def load(self, remedy: str) -> Snapshot:
        """Its contents, if they are undamaged and this run's."""
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
        """Whether it carries the identity of its folder's run; that of another is refused.

        A file that cannot be read is reported by `load`.
        """
        return is_own(self.path, (self.metadata() or {}).get(IDENTITY), self.identity, "remove it")
