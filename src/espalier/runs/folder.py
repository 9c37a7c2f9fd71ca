"""A run is a folder: manifest.json, metrics, checkpoints, and the point to resume from.

While a run is in progress, rows are appended to `NAME.jsonl`, which survives a kill; when it ends
they become `NAME.parquet`. A table that many jobs fill is a folder NAME of Parquet files, one per
job (`runs.partitions`). Without pyarrow the lines stay, and `tidy` turns them into Parquet on a
machine that has it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from espalier.errors import FileError, ModelError
from espalier.files import (
    MANIFEST,
    as_path,
    check_plain,
    check_utf8,
    onto_disk,
    write_text,
)
from espalier.runs.learner import Row, Snapshot
from espalier.runs.lock import check_held, signature_of
from espalier.runs.manifest_file import read_manifest
from espalier.runs.rows import (
    IDENTITY,
    agree,
    longer,
    read_lines,
    read_parquet,
    whole_lines,
    write_parquet,
)
from espalier.runs.tensors import TensorFile

if TYPE_CHECKING:
    from torch import Tensor

RESUME = "resume.safetensors"
LOOKS = 10  # at a table: a run that is resumed or ends replaces one of its files by the other
OWN_TABLES = ("metrics", "gradients", "rows")  # where a manifest of an earlier version lists none
# The files that some kind of run writes in addition to its manifest.
_WEIGHTS = (RESUME, "epoch-*.safetensors", "step-*.safetensors", "model.safetensors")
_TABLES = ("*/part-*.parquet", "*.jsonl", "*.parquet")
WRITTEN = (*_WEIGHTS, *_TABLES, "program.json", "figure.png", "figure.svg")


@dataclass(frozen=True)
class RunFolder:
    """One run on disk. Every file in it is written whole or not at all.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     folder = RunFolder.create(f"{place}/first")
    ...     folder.append_rows([{"step": 1, "loss": 0.5}])
    ...     folder.rows()
    [{'step': 1, 'loss': 0.5}]
    """

    path: Path

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> RunFolder:
        """The folder, made if it does not exist."""
        folder = as_path(path)
        check_utf8(folder)
        if folder.exists() and not folder.is_dir():
            raise FileError(f"cannot save a run in {folder}: it is a file; name a folder")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"cannot make the folder {folder}: {error.strerror}") from error
        return cls(folder)

    def manifest(self) -> dict[str, Any] | None:
        """The run's manifest, or None if there is none yet."""
        file = self.path / MANIFEST
        return read_manifest(file) if file.exists() else None

    def finished(self, *kinds: str) -> dict[str, Any]:
        """The manifest of a finished run, of one of these kinds if any are named."""
        found = self.manifest()
        wanted = f" of kind {' or '.join(map(repr, kinds))}" if kinds else ""
        if not found:
            why = f"no run is there; {_how_to_train(self.path, kinds)}"
        elif kinds and found.get("kind") not in kinds:
            why = f"the run there is of kind {found.get('kind')!r}"
        elif found.get("status") != "finished":
            why = f"the one there is {found.get('status')}; the same settings resume its training"
        else:
            return found
        raise ModelError(f"{self.path} holds no finished run{wanted}: {why}")

    def write_manifest(self, manifest: dict[str, Any]) -> None:
        """Replace the manifest."""
        self._check_held()
        write_text(self.path / MANIFEST, json.dumps(manifest, indent=1) + "\n")

    def tables(self) -> set[str]:
        """The names of the tables that were written so far."""
        files = [file for end in ("jsonl", "parquet") for file in self.path.glob(f"*.{end}")]
        return {file.stem for file in files} | {
            part.parent.name for part in self.path.glob("*/part-*.parquet")
        }

    def rows(self, table: str = "metrics") -> list[Row]:
        """The rows of a table, in the order they were measured.

        Where there are both lines and Parquet, one begins with the other, and the longer one wins.

        Measures of a finished run without its identity must agree with its last weights.
        """
        found, are_own = self.read_table(table)
        last = (self.manifest() or {}).get("last_checkpoint") if table == "metrics" else None
        if isinstance(last, str) and not are_own:
            self.check_measures(found, last)
        return found

    def read_table(self, table: str) -> tuple[list[Row], bool]:
        """The rows of a table, and whether all carry this run's identity."""
        for look in range(LOOKS):
            try:
                found = self._read_table(table)
            except (FileError, FileNotFoundError) as error:
                gone = isinstance(error.__cause__ or error, FileNotFoundError)
                if not gone or look == LOOKS - 1:
                    raise
            else:
                if found is not None:
                    return found
        return [], True

    def _read_table(self, table: str) -> tuple[list[Row], bool] | None:
        """The same by one look at its files; None if there are none."""
        lines, parquet = self.path / f"{table}.jsonl", self.path / f"{table}.parquet"
        parts = sorted((self.path / table).glob("part-*.parquet"))
        own = self.identity()
        if lines.exists() and not parts:
            readable = parquet.exists() and find_spec("pyarrow") is not None
            before = read_parquet(parquet, own) if readable else ([], False)
            return longer((read_lines(lines), False), before, files=(lines, parquet))
        files = [file for file in parts or [parquet] if file.exists()]
        if not files:
            return None
        read = [read_parquet(file, own) for file in files]
        return [row for rows, _ in read for row in rows], all(said for _, said in read)

    def check_measures(self, rows: Sequence[Row], checkpoint: str) -> None:
        """Raise if these rows differ from the measures in a checkpoint; either may lack them."""
        file = self._file(f"{checkpoint}.safetensors")
        file.is_own()
        said, step = file.measures(), file.step()
        own = [row for row in rows if row.get("step") == step]
        if own and said and not agree(own, said):
            raise FileError(
                f"{self.path}: the measures of step {step:,} in its table metrics are not those "
                f"in {file.path.name}; they were edited, or one of the two is another run's: copy "
                f"this run's own there, or remove the one that is not"
            )

    def tables_named(self) -> set[str] | None:
        """The names of the run's tables in its manifest; None where an earlier version wrote it."""
        said = (self.manifest() or {}).get("tables")
        return {str(name) for name in said} if isinstance(said, list) else None

    def own_tables(self) -> set[str]:
        """The names of the tables that the run writes, by its manifest. Others are the user's."""
        named = self.tables_named()
        return set(OWN_TABLES) if named is None else named

    def written(self) -> list[str]:
        """The names of all files there that a run could have written."""
        found = {file for pattern in WRITTEN for file in self.path.glob(pattern)}
        return sorted(str(file.relative_to(self.path)) for file in found)

    def measured(self) -> list[Row]:
        """The measures of a finished run; an error if they were lost."""
        found = self.rows()
        if not found:
            raise FileError(
                f"{self.path} has lost its measures (metrics.parquet); copy them back, or remove "
                f"the folder to train it again"
            )
        return found

    def data_sha256(self) -> str:
        """The digest of the data that the run was trained on, as its manifest says."""
        found = (self.manifest() or {"data": {}})["data"].get("sha256")
        if not isinstance(found, str):
            raise FileError(
                f"{self.path / MANIFEST} has no sha256 of the run's data; correct it, or remove "
                f"the folder to train it again"
            )
        return found

    def write_rows(self, rows: Iterable[Row], table: str = "metrics") -> None:
        """Replace a table by these rows, as lines; its Parquet is removed when they are there."""
        self._check_held()
        text = "".join([json.dumps(row) + "\n" for row in rows])  # read before it is replaced
        write_text(self.path / f"{table}.jsonl", text)
        (self.path / f"{table}.parquet").unlink(missing_ok=True)

    def append_rows(self, rows: Iterable[Row], table: str = "metrics") -> None:
        """Append lines to a table and flush them to the disk."""
        self._check_held()
        lines = self.path / f"{table}.jsonl"
        check_plain(lines)  # opening a pipe would block
        if lines.exists() and not lines.read_bytes().endswith(b"\n"):
            write_text(lines, "".join(f"{text}\n" for text in whole_lines(lines)))
        with onto_disk(lines), lines.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
            file.flush()
            os.fsync(file.fileno())

    def tidy(self, *, identity: str | None = None) -> list[Path]:
        """Turn the run's own tables of lines into Parquet, if pyarrow is installed.

        Their `identity` is the manifest's by default.
        """
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError:
            return []
        self._check_held()
        written, own = [], self.own_tables()
        for lines in sorted(self.path.glob("*.jsonl")):
            if lines.stem not in own:
                continue
            written.append(lines.with_suffix(".parquet"))
            write_parquet(written[-1], self.rows(lines.stem), identity or self.identity())
            lines.unlink()
        return written

    def save_resume(
        self, state: dict[str, Tensor], step: int, *, identity: str | None = None
    ) -> None:
        """Replace the point to resume from. Its `identity` is the manifest's by default."""
        self._save(RESUME, Snapshot(state, {"step": str(step)}), identity)

    def load_resume(self) -> dict[str, Tensor] | None:
        """The state to resume from, or None if there is none."""
        if not (self.path / RESUME).exists():
            return None
        return self._file(RESUME).load("remove it to start over").tensors

    def resume_step(self) -> int:
        """The step to resume from; 0 if there is no point to resume from."""
        return self._file(RESUME).step() or 0

    def checkpoints(self) -> dict[str, int]:
        """Names of the checkpoints with their steps, in the order of training."""
        known = [(step, name) for name, step in self._steps().items() if step is not None]
        return {name: step for step, name in sorted(known)}

    def load_checkpoint(self, name: str) -> Snapshot:
        """The weights saved under a name."""
        found = self._file(f"{name}.safetensors").load("run the command that trained it again")
        self.check_checkpoint(name)
        return found

    def last_checkpoint(self) -> Snapshot:
        """The weights saved last."""
        self._check_last_is_there()
        names, steps = list(self.checkpoints()), self._steps()
        damaged = [name for name, step in steps.items() if step is None]
        if damaged and names:
            raise FileError(
                f"{self.path / damaged[0]}.safetensors is damaged; copy it back, or remove it"
            )
        if not names:
            raise FileError(
                f"{self.path} holds no checkpoint (epoch-*.safetensors); copy the last one there, "
                f"or run the command that trained it again: it is written from {RESUME}"
            )
        return self.load_checkpoint(names[-1])

    def check_last_checkpoint(self) -> None:
        """Raise if the weights saved last are missing, or are another run's."""
        self._check_last_is_there()
        for name in list(self.checkpoints())[-1:]:
            self.check_checkpoint(name)

    def check_checkpoint(self, name: str) -> None:
        """Raise if the weights saved under a name are another run's.

        Those of earlier versions carry no identity: their measures decide, if they can be read.
        """
        unread = find_spec("pyarrow") is None and not (self.path / "metrics.jsonl").exists()
        if not self._file(f"{name}.safetensors").is_own() and not unread:
            self.check_measures(self.read_table("metrics")[0], name)

    def check_own(self) -> None:
        """Raise if the state, the last weights or the measures of a finished run are another's."""
        for name in (RESUME, *(f"{name}.safetensors" for name in list(self.checkpoints())[-1:])):
            self._file(name).is_own()
        self.rows()

    def _check_last_is_there(self) -> None:
        """Raise if a finished run has earlier weights, but its last ones are missing.

        Manifests of earlier versions do not name the last ones.
        """
        last = (self.manifest() or {}).get("last_checkpoint")
        if isinstance(last, str) and self._steps() and last not in self._steps():
            raise FileError(
                f"{self.path} has lost its last weights, {last}.safetensors; copy them back, run "
                f"the command that trained it again, or name the file of earlier ones"
            )

    def save_checkpoint(
        self, name: str, snapshot: Snapshot, *, identity: str | None = None
    ) -> Path:
        """Save weights under a name such as `epoch-3`."""
        return self._save(f"{name}.safetensors", snapshot, identity)

    def remove_checkpoint(self, name: str) -> None:
        """Remove the weights saved under a name."""
        self._check_held()
        self._file(f"{name}.safetensors").path.unlink(missing_ok=True)

    def _steps(self) -> dict[str, int | None]:
        """The step of every checkpoint; None for those that are damaged."""
        files = [*self.path.glob("epoch-*.safetensors"), *self.path.glob("step-*.safetensors")]
        return {file.stem: TensorFile(file, None).step() for file in files}

    def identity(self) -> str | None:
        """The mark of the run's own files; None in runs of earlier versions."""
        found = (self.manifest() or {}).get(IDENTITY)
        return None if found is None else str(found)

    def _check_held(self) -> None:
        """Raise if this process works on the folder, and it was moved or removed."""
        check_held(self.path, signature_of(self.path))

    def _file(self, name: str, identity: str | None = None) -> TensorFile:
        return TensorFile(self.path / name, identity or self.identity())

    def _save(self, name: str, snapshot: Snapshot, identity: str | None) -> Path:
        self._check_held()
        try:
            return self._file(name, identity).save(snapshot)
        except FileError:
            self._check_held()  # if the folder was moved meanwhile, that is the reason
            raise


def _how_to_train(path: Path, kinds: Sequence[str]) -> str:
    """The command, or the call in Python, that trains a run of one of these kinds."""
    kind = "parity" if not kinds or "parity" in kinds else kinds[0]
    return f"train one first: `espalier train {kind} --out {path}`, or es.train(..., out=...)"
