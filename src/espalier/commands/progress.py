"""The progress of a command: a bar on a terminal, a line now and then on a pipe.

Work that would take more than an hour is tried for some seconds first, and refused without --yes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from espalier.commands.terminal import INTERRUPTED
from espalier.errors import ConfigError, harmless

if TYPE_CHECKING:
    from espalier.runs import Moment, Progress

Yes = Annotated[
    bool, Parameter(name=["--yes", "-y"], negative="", help="Start what takes over an hour.")
]
TRIAL, LONG = 10.0, 3_600.0  # seconds that are tried, and that need a yes
EVERY = 15.0  # seconds between two lines on a pipe


class TooLongError(ConfigError):
    """The work would take more than an hour, and --yes was not given."""


@dataclass
class Trial:
    """Passes progress on; after some seconds it knows how long is left, and may refuse that."""

    show: Progress
    smaller: str  # what to ask for instead
    first: Moment | None = field(default=None, init=False)
    done: bool = field(default=False, init=False)

    def __call__(self, moment: Moment) -> None:
        """Take the progress of the run at one time."""
        self.show(moment)
        if self.first is None:  # the first steps include start-up that others do not
            self.first = moment
        seconds, steps = moment.seconds - self.first.seconds, moment.taken - self.first.taken
        if self.done or seconds < TRIAL or not steps or not moment.steps_per_epoch:
            return
        self.done = True
        left = (moment.total - moment.step) * seconds / steps
        if left > LONG:
            raise TooLongError(
                f"this would take about {duration(left)}: {moment.total - moment.step:,} steps of "
                f"{seconds / steps:.2g} s here; add --yes to start it all the same, or ask for "
                f"less: {self.smaller}"
            )


def duration(seconds: float) -> str:
    """A time in its largest unit."""
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"


@contextmanager
def reporting(*, yes: bool = True, smaller: str = "") -> Iterator[Progress]:
    """Progress of training on stderr; without `yes`, long training is refused."""
    from espalier.runs import Interrupted, Lines

    try:
        if sys.stderr.isatty():
            with _training_bar() as show:
                yield show if yes else Trial(show, smaller)
        else:
            lines = Lines(sys.stderr)
            yield lines if yes else Trial(lines, smaller)
    except Interrupted as stopped:
        say(str(stopped))
        raise SystemExit(INTERRUPTED) from None


@contextmanager
def _training_bar() -> Iterator[Callable[[Any], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from espalier.runs import describe

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True, markup=False)) as progress:
        task = progress.add_task("training", total=None)

        def report(moment: Moment) -> None:
            pace = moment.taken / moment.seconds if moment.seconds else 0.0
            text = f"step {moment.step:,}/{moment.total:,}  {pace:.1f} steps/s"
            progress.update(task, completed=moment.step, total=moment.total, description=text)
            if moment.rows:
                progress.console.print(describe(moment), highlight=False)

        yield report


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """Progress of what is counted, on stderr; call it with (done, total)."""
    if not sys.stderr.isatty():
        last = time.monotonic()

        def tell(done: int, total: int) -> None:
            nonlocal last
            if time.monotonic() - last >= EVERY:
                last = time.monotonic()
                say(f"{done:,} of {total:,} {what}")

        yield tell
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def say(text: str) -> None:
    """One line on stderr, where progress goes: only results are on stdout."""
    sys.stderr.write(harmless(text) + "\n")
    sys.stderr.flush()
