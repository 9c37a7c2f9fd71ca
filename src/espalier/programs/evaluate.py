"""Every case answered, chunk by chunk; a chunk is saved before the next one begins."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from espalier.errors import ConfigError, DataError, check_kind
from espalier.language import Program, program_hash
from espalier.programs import engines
from espalier.programs.engines import COLUMNS, Case, Compiled, Engine, Interpreter, Machine
from espalier.programs.evaluation import Evaluation, Row
from espalier.runs import (
    Counts,
    Interrupted,
    Job,
    RunFolder,
    check_progress,
    choose_device,
    describe_run,
    fill_table,
    recorded,
    run_jobs,
)
from espalier.zoo import Entry

CASES = "cases"  # the table of a run
Progress = Counts  # examples answered, examples in all


def evaluate(
    entry: Entry,
    cases: Sequence[Case],
    *,
    engine: Engine | None = None,
    program: Program | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Answer every case with `entry`'s program, or with another `program` in its place.

    With `out`, rows are saved in that folder as they come, and a run that was stopped is resumed.

    >>> import espalier as es
    >>> from espalier.programs import Case, Interpreter
    >>> entry = es.zoo.load("parity-sequential-relative")
    >>> cases = [Case("101", 0, 3), Case("111", 1, 3)]
    >>> es.evaluate(entry, cases, engine=Interpreter(workers=1)).accuracy
    1.0
    """
    check_kind("entry", entry, Entry, error=ConfigError)
    check_kind("cases", cases, Sequence, error=DataError)
    for case in cases[:1]:
        check_kind("a case", case, Case, error=DataError)
    if not cases:
        raise DataError("there is nothing to evaluate: no cases were given")
    if entry.writing is not None:
        raise ConfigError(
            f"{entry.name!r} writes its answer token by token, and evaluate runs programs once; "
            "use espalier.programs.generation.ask, or espalier verify"
        )
    engine = Interpreter() if engine is None else engine
    if not isinstance(engine, Interpreter | Compiled):
        raise ConfigError(
            f"engine is {str(engine)[:60]!r}; give Interpreter() or Compiled() of espalier.programs"
        )
    check_progress(progress)
    asked = _Asked(entry, program or entry.program, cases, engine, progress)
    if isinstance(engine, Compiled) and engine.on_device and asked.workers.cluster is None:
        choose_device(engine.device)
    try:
        return asked.in_memory() if out is None else asked.in_folder(RunFolder.create(out))
    except KeyboardInterrupt as stopped:
        counts = f"interrupted after {asked.done:,} of {len(cases):,} cases"
        where = f"saved in {out}: the same command resumes from there"
        kept = "nothing was saved: no folder" if out is None else where
        raise Interrupted(f"{counts}; {kept}") from stopped


@dataclass
class _Asked:
    """The cases to be answered, and how many have been."""

    entry: Entry
    program: Program
    cases: Sequence[Case]
    engine: Engine
    progress: Progress | None
    done: int = 0
    peak: int = 0
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.workers = engines.workers_for(self.engine, len(self.cases))
        layers = self.entry.max_layers
        self.machine = Machine(self.program, self.engine, layers, self.entry.decode)
        self.gpu = isinstance(self.engine, Compiled) and self.engine.on_device
        self.size = engines.DEVICE_CHUNK if self.gpu else engines.CHUNK

    def in_memory(self) -> Evaluation:
        """All rows, not saved."""
        found: dict[str, list[Row]] = {}
        for job, (rows, peak) in run_jobs(self.machine.measured, self._jobs(), self.workers):
            found[job.name] = rows
            self._tell(len(rows), peak)
        return self._result([row for name in sorted(found) for row in found[name]], 0.0)

    def in_folder(self, folder: RunFolder) -> Evaluation:
        """All rows, those of earlier runs included; a chunk is a file of its own."""
        with recorded(folder, self._described()) as manifest:
            table, jobs = folder.path / CASES, self._jobs()
            for part in fill_table(table, self.machine, jobs, self.workers, columns=COLUMNS):
                self._tell(part.rows, part.peak_bytes)
            return self._result(folder.rows(CASES), manifest["seconds"])

    def _jobs(self) -> Iterator[Job]:
        """Chunks of cases, the same for any number of workers."""
        for first in range(0, len(self.cases), self.size):
            some = list(self.cases[first : first + self.size])
            tokens = [list(self.entry.encode(case.given)) for case in some]
            yield Job(f"{first:09d}", (first, some, tokens), self.gpu)

    def _tell(self, rows: int, peak: int) -> None:
        self.done += rows
        self.peak = max(self.peak, peak)
        if self.progress is not None and peak:  # not of what was there
            self.progress(self.done, len(self.cases))

    def _result(self, rows: Sequence[Row], before: float) -> Evaluation:
        return Evaluation(tuple(rows), before + time.monotonic() - self.began, self.peak)

    def _described(self) -> dict[str, Any]:
        import torch

        model = self.engine if isinstance(self.engine, Compiled) else Compiled(dtype="")
        config = {
            "program": self.entry.name,
            "program_sha256": program_hash(self.program),
            "engine": type(self.engine).__name__.lower(),
            "dtype": model.dtype or None,
            "chunk": self.size,
        }
        text = "\n".join(f"{case.given}\t{case.answer}" for case in self.cases)
        digest = hashlib.sha256(text.encode()).hexdigest()
        device = torch.device(model.device if self.workers.cluster is None else "cpu")
        data = {"cases": len(self.cases), "sha256": digest}
        return describe_run("evaluation", config, data=data, device=device, tables=(CASES,))
