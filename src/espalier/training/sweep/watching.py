"""The progress of a sweep's cells that other processes train, read from their folders."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from espalier.errors import FileError
from espalier.runs import LOCK, Moment, Progress, Row, RunFolder, latest
from espalier.training.sweep.grid import Cell

EVERY = 0.5  # seconds between two reads


@contextmanager
def watched(out: Path, cells: Sequence[Cell], progress: Progress | None) -> Iterator[None]:
    """A block in which `progress` is called for every measure that a cell's folder gains.

    An error that it raises ends the block; where Ctrl-C is ignored, as in a shell's background, it
    is raised when the block has ended.
    """
    if progress is None or not cells:
        yield
        return
    ended, watch = threading.Event(), [_Cell(RunFolder(out / one.name), one) for one in cells]
    for one in watch:
        one.moment("")  # skip the measures there now, and none that come before the first read

    refused: list[Exception] = []

    def look() -> None:
        try:
            report(progress)
        except Exception as error:
            refused.append(error)
            if not ended.is_set():
                _interrupt()

    def report(progress: Progress) -> None:
        last = False
        while not last:
            last = ended.wait(EVERY)
            for one in watch:
                moment = one.moment(
                    f"{one.cell.name}, {sum(w.done for w in watch)} of {len(watch)}"
                )
                if moment is not None:
                    progress(moment)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    except KeyboardInterrupt:
        if not refused:
            raise
    finally:
        ended.set()
        thread.join()
    if refused:
        raise refused[0]


def _interrupt() -> None:
    """Send Ctrl-C to the main thread, unless this process ignores it."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        os.kill(os.getpid(), signal.SIGINT)


@dataclass
class _Cell:
    """What was seen of one cell: its rows, and when it began to be trained."""

    folder: RunFolder
    cell: Cell
    done: bool = False
    began: float | None = None
    first: int = 0
    seen: int = field(default=-1)

    def moment(self, name: str) -> Moment | None:
        """The measures since the last read, if there are any."""
        if self.began is None and (self.folder.path / LOCK).exists():
            self.began = time.monotonic()
        rows = self._rows()
        if self.seen < 0:
            self.seen, self.first = len(rows), int(rows[-1]["step"]) if rows else 0
        if len(rows) <= self.seen:
            return None
        self.seen, new = len(rows), latest(rows)
        step, epoch = int(new[0]["step"]), float(new[0]["epoch"])
        per_epoch = max(1, round(step / epoch)) if epoch else 1
        total = per_epoch * self.cell.config().plan().epochs
        self.done = step >= total
        seconds = 0.0 if self.began is None else time.monotonic() - self.began
        return Moment(step, total, per_epoch, seconds, step - self.first, new, cell=name)

    def _rows(self) -> list[Row]:
        """The rows that are there; none while they are cut short or being turned into Parquet."""
        try:
            return self.folder.rows()
        except (FileError, OSError):
            return []
