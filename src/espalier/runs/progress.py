"""The progress of a run, for callers that show it. The library itself shows nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TextIO

from espalier.errors import ConfigError
from espalier.runs.learner import Row


@dataclass(frozen=True)
class Moment:
    """The progress of a run at one time; `rows` are the measures just taken, if any were.

    >>> Moment(step=25, total=100, steps_per_epoch=50, seconds=5.0, taken=25).remaining
    15.0
    """

    step: int
    total: int
    steps_per_epoch: int  # 0 where a step is a job of other processes
    seconds: float  # since this process began to train
    taken: int  # steps taken in those seconds
    rows: tuple[Row, ...] = ()
    name: str = ""  # of the run's folder, if it has one
    cell: str = ""  # of a sweep trained by other processes, and how many cells are done

    @property
    def remaining(self) -> float:
        """Seconds to go at the pace so far; infinite before the first step."""
        return (self.total - self.step) * self.seconds / self.taken if self.taken else float("inf")


Progress = Callable[[Moment], None]


def check_progress(progress: object) -> None:
    """Refuse a `progress` that is not a function, before anything is started.

    >>> check_progress(True)
    Traceback (most recent call last):
    espalier.errors.ConfigError: progress is True, which is no function; give one, or leave it out
    """
    if progress is not None and not callable(progress):
        raise ConfigError(
            f"progress is {progress}, which is no function; give one, or leave it out"
        )


@dataclass
class Lines:
    """Plain lines for a log: one for each measure, and one now and then in between.

    >>> import sys
    >>> Lines(sys.stdout)(Moment(10, 10, 5, 2.0, 10, ({"loss": 1.5},)))
    step 10/10  epoch 2.00  5.0 steps/s  0:00 to go  loss 1.5
    """

    stream: TextIO
    every: float = 30.0
    _last: float = field(default_factory=time.monotonic)

    def __call__(self, moment: Moment) -> None:
        """Write a line if something was measured or enough time went by."""
        now = time.monotonic()
        if not moment.rows and now - self._last < self.every:
            return
        self._last = now
        self.stream.write(describe(moment) + "\n")
        self.stream.flush()


def describe(moment: Moment) -> str:
    """One line: place, pace, time to go, and the mean of every measure over members.

    >>> describe(Moment(25, 100, 50, 5.0, 25, ({"step": 25, "train_loss": 0.5},)))
    'step 25/100  epoch 0.50  5.0 steps/s  0:15 to go  train_loss 0.5'
    >>> describe(Moment(3, 4, 0, 60.0, 3, ({},), cell="addition 1, 3 of 4"))
    'addition 1, 3 of 4 cells done:  0:20 to go'
    """
    parts = [f"{moment.cell} cells done:"] if moment.cell else []
    if moment.steps_per_epoch:
        epoch = moment.step / moment.steps_per_epoch
        parts += [f"step {moment.step:,}/{moment.total:,}", f"epoch {epoch:.2f}"]
    if moment.taken and moment.seconds:
        if moment.steps_per_epoch:
            parts.append(f"{moment.taken / moment.seconds:.1f} steps/s")
        parts.append(f"{clock(moment.remaining)} to go")
    parts += [f"{name} {value:.4g}" for name, value in averages(moment.rows).items()]
    return "  ".join(parts)


def latest(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Every member's row of the last measure.

    >>> latest([{"step": 1, "loss": 2.0}, {"step": 2, "loss": 1.0}])
    ({'step': 2, 'loss': 1.0},)
    """
    return tuple(row for row in rows if row["step"] == rows[-1]["step"])


def averages(rows: Sequence[Row]) -> dict[str, float]:
    """The mean over members of every measured column.

    >>> averages([{"step": 1, "loss": 2.0}, {"step": 1, "loss": 1.0}])
    {'loss': 1.5}
    """
    first, skipped = rows[0] if rows else {}, ("step", "epoch", "seconds")
    names = [key for key in first if isinstance(first[key], float) and key not in skipped]
    return {name: sum(float(row[name]) for row in rows) / len(rows) for name in names}


def clock(seconds: float) -> str:
    """Hours, minutes and seconds."""
    if seconds == float("inf"):
        return "?"
    whole = round(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"
