"""A run's files of tensors: which run's they are, and the step at which they were written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from espalier.errors import FileError, ModelError
from espalier.files import check_readable
from espalier.runs.learner import Snapshot

IDENTITY = "identity"  # of a run's settings and data: in its manifest and its files of tensors


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
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(self.path, "pt") as opened:
                return int((opened.metadata() or {}).get("step", 0))
        except (OSError, SafetensorError, ValueError):
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
        self._check_whose(metadata, remedy)
        metadata = {key: v for key, v in metadata.items() if key not in (CHECKSUMS, IDENTITY)}
        return Snapshot(tensors, metadata)

    def save(self, snapshot: Snapshot) -> Path:
        """Replace it."""
        from espalier.nets import write_safetensors

        own = {} if self.identity is None else {IDENTITY: self.identity}
        write_safetensors(self.path, snapshot.tensors, snapshot.metadata | own)
        return self.path

    def check_whose(self) -> None:
        """Raise if it is another run's; what cannot be read is for `load` to tell."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(self.path, "pt") as opened:
                metadata = dict(opened.metadata() or {})
        except (OSError, SafetensorError):
            return
        self._check_whose(metadata, "remove it")

    def _check_whose(self, metadata: dict[str, str], remedy: str) -> None:
        whose = metadata.get(IDENTITY)
        if None not in (whose, self.identity) and whose != self.identity:
            raise FileError(
                f"{self.path} is another run's: its {IDENTITY} is {whose}, that of this folder's "
                f"manifest {self.identity}; copy this run's own there, or {remedy}"
            )
