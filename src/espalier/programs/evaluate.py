"""Every case answered, chunk by chunk; what was answered is on the disk before the next chunk."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from espalier.errors import ConfigError, DataError
from espalier.language import Program, Run, program_hash
from espalier.programs.engines import Compiled, Engine, Interpreter, answers
from espalier.programs.evaluation import Evaluation, Row
from espalier.runs import (
    Interrupted,
    RunFolder,
    choose_device,
    close_run,
    describe_run,
    locked,
    open_run,
)
from espalier.zoo import Entry

Progress = Callable[[int, int], None]  # examples answered, examples in all


@dataclass(frozen=True)
class Case:
    """An input, the answer it should get, and the size that results are grouped by."""

    given: Any
    answer: Any
    size: int


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

    With `out`, rows are kept in that folder as they come, and a run that was stopped goes on.

    >>> import espalier as es
    >>> from espalier.programs import Case, Interpreter
    >>> entry = es.zoo.load("parity-sequential-relative")
    >>> cases = [Case("101", 0, 3), Case("111", 1, 3)]
    >>> es.evaluate(entry, cases, engine=Interpreter(workers=1)).accuracy
    1.0
    """
    if not cases:
        raise DataError("there is nothing to evaluate: no cases were given")
    if entry.writing is not None:
        raise ConfigError(
            f"{entry.name!r} writes its answer token by token, and evaluate runs programs once; "
            "use espalier.programs.generation.ask, or espalier verify"
        )
    engine = Interpreter() if engine is None else engine
    if isinstance(engine, Compiled) and engine.device != "cpu":
        choose_device(engine.device)
    folder = None if out is None else RunFolder.create(out)
    with nullcontext() if folder is None else locked(folder.path):
        kept = _Kept(folder, entry, program or entry.program, cases, engine)
        try:
            try:
                kept.answer(progress)
            finally:
                kept.close()
        except KeyboardInterrupt as stopped:
            raise Interrupted(kept.interrupted()) from stopped
    return kept.result()


class _Kept:
    """Rows so far, and the folder that they go to if there is one."""

    def __init__(
        self,
        folder: RunFolder | None,
        entry: Entry,
        program: Program,
        cases: Sequence[Case],
        engine: Engine,
    ) -> None:
        self._entry, self._program, self._cases, self._engine = entry, program, cases, engine
        self._folder = folder
        self._rows: dict[int, Row] = {}
        self._peak, self._began, self._before = 0, time.monotonic(), 0.0
        if folder is not None:
            self._manifest = _open(folder, entry, program, cases, engine)
            self._before = self._manifest["seconds"]
            self._rows = {int(row["number"]): row for row in folder.rows("cases")}

    def answer(self, progress: Progress | None) -> None:
        """Answer what is left, saving after each chunk."""
        left = [number for number in range(len(self._cases)) if number not in self._rows]
        tokens = {n: tuple(self._entry.encode(self._cases[n].given)) for n in left}
        for found in answers(self._program, tokens, self._engine, self._entry.max_layers):
            rows = [_row(self._entry, n, self._cases[n], run) for n, run in found.runs.items()]
            self._rows |= {row["number"]: row for row in rows}
            self._peak = max(self._peak, found.peak_bytes)
            if self._folder is not None:
                self._folder.append_rows(rows, "cases")
                self._note("running")
            if progress is not None:
                progress(len(self._rows), len(self._cases))

    def interrupted(self) -> str:
        """What to say of a run that was stopped."""
        counts = f"interrupted after {len(self._rows):,} of {len(self._cases):,} cases"
        if self._folder is None:
            return f"{counts}; nothing was saved: no folder"
        return f"{counts}; saved in {self._folder.path}: the same command goes on from there"

    def close(self) -> None:
        """Say how the run ended; a finished one has its rows as Parquet."""
        if self._folder is not None:
            done = len(self._rows) == len(self._cases)
            self._note("finished" if done else "interrupted")
            if done:
                self._folder.tidy()

    def result(self) -> Evaluation:
        """The rows in order, and what they took, earlier parts of the run included."""
        rows = tuple(self._rows[number] for number in sorted(self._rows))
        return Evaluation(rows, self._before + time.monotonic() - self._began, self._peak)

    def _note(self, status: str) -> None:
        assert self._folder is not None
        seconds = time.monotonic() - self._began
        close_run(self._folder, self._manifest, status=status, seconds=seconds)


def _row(entry: Entry, number: int, case: Case, run: Run) -> Row:
    answer = entry.decode(run.outputs)
    right = bool(run.halted or entry.max_layers is not None) and answer == case.answer
    wrong = None if right else str(answer)
    return {
        "number": number,
        "size": case.size,
        "layers": run.layers,
        "right": right,
        "wrong": wrong,
    }


def _open(
    folder: RunFolder, entry: Entry, program: Program, cases: Sequence[Case], engine: Engine
) -> dict[str, Any]:
    import torch

    device = engine.device if isinstance(engine, Compiled) else "cpu"
    config = {
        "program": entry.name,
        "program_sha256": program_hash(program),
        "engine": type(engine).__name__.lower(),
        "dtype": engine.dtype if isinstance(engine, Compiled) else None,
    }
    text = "\n".join(f"{case.given}\t{case.answer}" for case in cases)
    data = {"cases": len(cases), "sha256": hashlib.sha256(text.encode()).hexdigest()}
    described = describe_run("evaluation", config, data=data, device=torch.device(device))
    return open_run(folder, described)
