"""The one training loop: advance, measure, save, report; stop and resume exactly.

A run that was killed and resumed has the numbers of a run that was not: everything that later
steps depend on is in the resume point, and rows measured after it are dropped on resuming.
"""

from __future__ import annotations

import json
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from espalier.errors import ConfigError, FileError
from espalier.runs.folder import RESUME, RunFolder
from espalier.runs.learner import Learner, Row, Snapshot
from espalier.runs.progress import Moment, Progress
from espalier.runs.rows import agree
from espalier.runs.schedule import EveryEpoch, Schedule, checkpoint_name, steps_of

if TYPE_CHECKING:
    from torch import Tensor

MOST_EPOCHS = 1_000_000  # all of them are listed in advance
SAVING = 50  # the next save waits at least this many times as long as the last one took
_heard: threading.Event | None = None  # set by Ctrl-C, for all runs of the main thread


class Interrupted(KeyboardInterrupt):
    """A run was stopped by Ctrl-C after its state was saved."""


@dataclass(frozen=True)
class Plan:
    """How long to train, which weights to save, and how often the point to resume from.

    >>> Plan(epochs=3).keep
    (EveryEpoch(count=1),)
    """

    epochs: int
    keep: tuple[Schedule, ...] = (EveryEpoch(),)
    save_seconds: float = 30.0
    slice_seconds: float = 0.5  # between two looks at the clock

    def __post_init__(self) -> None:
        if self.epochs > MOST_EPOCHS:
            raise ConfigError(
                f"{self.epochs} epochs, or measures, are asked for; {MOST_EPOCHS:,} are the most"
            )


def fit(
    learner: Learner,
    plan: Plan,
    *,
    folder: RunFolder | None = None,
    progress: Progress | None = None,
    also: Callable[[Row], None] | None = None,
) -> list[Row]:
    """Train to the end of the plan and return every measured row.

    With a folder the run is saved there, and resumed if it was stopped. `also` is called after
    each measure with its step and epoch, for measurements of the caller's own.
    """
    saved = _saved_steps(learner, plan)
    tables = _resume(learner, folder)
    rows = tables["metrics"]
    _mend(learner, folder, rows, saved)
    total = plan.epochs * learner.steps_per_epoch
    ends = {epoch * learner.steps_per_epoch for epoch in range(1, plan.epochs + 1)}
    _warn_of_gaps(folder, tables, {stop for stop in saved | ends if 0 < stop <= learner.step})
    pace = _Pace(learner, plan, total=total, progress=progress, folder=folder)
    with interruptible() as interrupted:
        if learner.step == 0 and 0 in saved and folder is not None:
            folder.save_checkpoint("step-0", learner.snapshot())
        for stop in sorted(stop for stop in saved | ends if stop > learner.step):
            if learner.finished:
                break
            if not pace.reach(stop, interrupted):
                _restore_rows(folder, rows)
                raise Interrupted(_saved_message(learner, total, folder))
            new = _measure(learner, stop)
            if stop in ends:
                learner.end_epoch(new)
            rows += new
            _save(learner, folder, new, checkpoint=stop in saved or learner.finished)
            if also is not None:
                also({"step": stop, "epoch": stop / learner.steps_per_epoch})
            pace.save_if_due(last=stop == total or learner.finished)
            pace.report(new, interrupted)
    _restore_rows(folder, rows)
    if interrupted.is_set():  # in the last stretch: this run is complete, others may follow
        raise Interrupted(_saved_message(learner, total, folder))
    return rows


def _saved_steps(learner: Learner, plan: Plan) -> set[int]:
    """The steps whose weights are saved; a schedule that saves none is refused."""
    sizes = {"epochs": plan.epochs, "steps_per_epoch": learner.steps_per_epoch}
    found: set[int] = set()
    for one in plan.keep:
        if not (steps := steps_of(one, **sizes)):
            raise ConfigError(
                f"no weights would be saved by {one}: training has {plan.epochs:,} epochs of "
                f"{learner.steps_per_epoch:,} steps; change keep, or train for longer"
            )
        found |= steps
    return found


def _resume(learner: Learner, folder: RunFolder | None) -> dict[str, list[Row]]:
    """Restore the learner from the folder; the tables without rows measured after that point."""
    if folder is None:
        return {"metrics": []}
    state = folder.load_resume()
    if state is not None:
        _refuse_other_state(folder, learner.state(), state)
        learner.restore(state)
    reached, tables = -1 if state is None else learner.step, dict[str, list[Row]]()
    for table in (folder.tables() & folder.own_tables()) | {"metrics"}:
        rows = folder.rows(table)
        steps = [row.get("step") for row in rows]
        wrong = [step for step in steps if not isinstance(step, int) or step < 0]
        if wrong:
            raise FileError(
                f"{folder.path}: the step of a row of {table!r} is {wrong[0]!r}, not a number of "
                f"steps; remove its file to continue"
            )
        tables[table] = [row for row, step in zip(rows, steps, strict=True) if step <= reached]  # type: ignore[operator]
    _refuse_other_measures(folder, tables["metrics"])
    for table, rows in tables.items():
        folder.write_rows(rows, table)
    return tables


def _refuse_other_measures(folder: RunFolder, rows: list[Row]) -> None:
    """Raise if the rows to resume with differ from those in the last checkpoint of such a step."""
    measured = {row["step"] for row in rows}
    names = [name for name, step in folder.checkpoints().items() if step in measured]
    for name in names[-1:]:
        folder.check_measures(rows, name)


def _warn_of_gaps(
    folder: RunFolder | None, tables: Mapping[str, list[Row]], stops: set[int]
) -> None:
    """Warn if some measures before the point to resume from are missing.

    A folder that was copied while in use lacks some: its state is later than its rows.
    """
    if folder is None:
        return
    for table in sorted({"metrics", *(folder.tables_named() or ())}):
        missing = sorted(stops - {int(row["step"]) for row in tables.get(table, [])})
        if missing:
            shown = ", ".join(f"{step:,}" for step in missing[:4]) + ", ..." * (len(missing) > 4)
            warnings.warn(
                f"{folder.path} lacks rows of {table} that were measured before its {RESUME}: of "
                f"step {shown}; training continues without them; if the folder is a copy, copy "
                f"all of it again",
                stacklevel=3,
            )


def _restore_rows(folder: RunFolder | None, rows: list[Row]) -> None:
    """Write the rows again, with a warning, if their file was changed during the run."""
    if folder is None:
        return
    try:
        found, _ = folder.read_table("metrics")
    except FileError:
        found = []
    if not agree(found, rows):
        warnings.warn(
            f"{folder.path}: the measures on the disk were changed while the run was in progress; "
            f"they are written again as they were measured",
            stacklevel=3,
        )
        folder.write_rows(rows)


def _refuse_other_state(
    folder: RunFolder, own: Mapping[str, Tensor], found: Mapping[str, Tensor]
) -> None:
    """Raise if the state to resume from is another network's; the first such tensor is named."""
    for name in sorted({*own, *found}):
        ours, theirs = (
            f"{one[name].dtype} {tuple(one[name].shape)}" if name in one else "nothing"
            for one in (own, found)
        )
        if ours != theirs:
            raise FileError(
                f"{folder.path / RESUME} is of another network: {name} is {theirs} there, "
                f"{ours} here; remove it to start over, or give another folder"
            )


def _measure(learner: Learner, step: int) -> list[Row]:
    place: Row = {"step": step, "epoch": step / learner.steps_per_epoch}
    return [place | row for row in learner.measure()]


def _save(learner: Learner, folder: RunFolder | None, rows: list[Row], *, checkpoint: bool) -> None:
    """Rows and weights first, the resume point after them: a kill repeats work, but loses none."""
    if folder is None:
        return
    folder.append_rows(rows)
    if checkpoint:
        _save_checkpoint(learner, folder, rows)


def _mend(learner: Learner, folder: RunFolder | None, rows: list[Row], saved: set[int]) -> None:
    """Save the weights of the point resumed from again, if their file was lost or cut short."""
    wanted = learner.step in saved or learner.finished
    if folder is None or learner.step == 0 or not wanted:
        return
    if checkpoint_name(learner.step, learner.steps_per_epoch) not in folder.checkpoints():
        measured = [row for row in rows if row["step"] == learner.step]
        _save_checkpoint(learner, folder, measured)


def _save_checkpoint(learner: Learner, folder: RunFolder, rows: list[Row]) -> None:
    name = checkpoint_name(learner.step, learner.steps_per_epoch)
    weights = learner.snapshot()
    measured = {"step": str(learner.step), "metrics": json.dumps(rows)}
    folder.save_checkpoint(name, Snapshot(weights.tensors, weights.metadata | measured))


def _saved_message(learner: Learner, total: int, folder: RunFolder | None) -> str:
    if folder is None:
        return f"interrupted at step {learner.step:,} of {total:,}; nothing was saved: no folder"
    return (
        f"interrupted at step {learner.step:,} of {total:,}; saved in {folder.path}: "
        f"the same command resumes from there"
    )


class _Pace:
    """Advances in slices of about half a second, to look at the clock and at Ctrl-C in between."""

    def __init__(
        self,
        learner: Learner,
        plan: Plan,
        *,
        total: int,
        progress: Progress | None,
        folder: RunFolder | None,
    ) -> None:
        self.learner, self.plan, self.total = learner, plan, total
        self.progress, self.folder = progress, folder
        self.began, self.first = time.monotonic(), learner.step
        self.saved, self.slice, self.pause = self.began, 1, plan.save_seconds

    def reach(self, stop: int, interrupted: threading.Event) -> bool:
        """Advance to `stop`; False, with the state saved, if Ctrl-C came first."""
        while self.learner.step < stop:
            if interrupted.is_set():
                self._save()
                return False
            before = time.monotonic()
            steps = min(self.slice, stop - self.learner.step)
            self.learner.advance(steps)
            took = max(time.monotonic() - before, 1e-6)
            fitting = int(steps * self.plan.slice_seconds / took)
            self.slice = max(1, min(2 * self.slice, fitting))
            if self.learner.step < stop:
                self.report([], interrupted)
                self.save_if_due()
        return True

    def report(self, rows: list[Row], interrupted: threading.Event) -> None:
        """Call `progress`, which may interrupt the run as Ctrl-C does."""
        if self.progress is None:
            return
        step = self.learner.step
        seconds = time.monotonic() - self.began
        per_epoch, taken = self.learner.steps_per_epoch, step - self.first
        name = "" if self.folder is None else self.folder.path.name
        try:
            self.progress(Moment(step, self.total, per_epoch, seconds, taken, tuple(rows), name))
        except KeyboardInterrupt:
            interrupted.set()

    def save_if_due(self, *, last: bool = False) -> None:
        """Save the point to resume from, now and then and at the end."""
        if last or time.monotonic() - self.saved >= self.pause:
            self._save()

    def _save(self) -> None:
        began = time.monotonic()
        if self.folder is not None:
            self.folder.save_resume(self.learner.state(), self.learner.step)
        self.saved = time.monotonic()
        # Large states are saved less often, so that no more than a fiftieth of the time goes there.
        self.pause = max(self.plan.save_seconds, SAVING * (self.saved - began))


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """An event set by the first Ctrl-C; the second one interrupts immediately, as usual.

    Only the main thread receives Ctrl-C: runs in other threads are given its event.
    """
    global _heard
    if _heard is not None or threading.current_thread() is not threading.main_thread():
        yield _heard or threading.Event()
        return
    interrupted, before = threading.Event(), signal.getsignal(signal.SIGINT)

    def note(signum: int, frame: object) -> None:
        interrupted.set()
        signal.signal(signal.SIGINT, before)

    try:
        signal.signal(signal.SIGINT, note)
        _heard = interrupted
        yield interrupted
    finally:
        _heard = None
        signal.signal(signal.SIGINT, before)
